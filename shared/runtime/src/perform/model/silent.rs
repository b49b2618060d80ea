//! Attempts at a call that failed and sent no text: they are made again on the spot.

use djinn_core::budget::Usage;
use djinn_core::code::Failure;
use djinn_core::input::Input;

use super::{Broken, Call};
use crate::port::Ports;

/// Those of one performance. Nobody has seen anything of them, so the journal hears of them only with
/// what ends it, or where somebody else has to go on counting.
#[derive(Default)]
pub(super) struct Silent {
    times: u32,
    usage: Usage,
    last: Option<Failure>,
}

impl Silent {
    pub(super) fn add(&mut self, broken: &Broken) {
        // One whose process stood still uses up no retry.
        self.times += u32::from(!broken.stood_still);
        self.usage = self.usage.plus(broken.error.usage);
        self.last = Some(broken.error.failure());
    }

    /// What they cost.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }
}

impl<P: Ports> Call<P> {
    /// The call is left to another invocation, which has so many attempts less.
    pub(super) fn left_after(&self, silent: Silent) -> Vec<Input> {
        let Silent { times, usage, last } = silent;
        let last = last.filter(|_| times > 0 || usage.is_billed());
        let failed = last.map(|failure| Input::AttemptFailed {
            message: self.call.message.clone(),
            attempt: self.call.attempt,
            failure,
            usage,
            stood_still: false,
            times,
            silent: true,
        });
        failed.into_iter().collect()
    }

    /// What ends the call, or this model's part in it, and what its attempts cost.
    pub(super) fn ended_after(&self, silent: Silent, end: Input) -> Vec<Input> {
        let mut inputs = match silent.usage.is_billed() {
            true => self.left_after(silent),
            false => Vec::new(),
        };
        inputs.push(end);
        inputs
    }

    /// An attempt that had sent text is void, with those before it.
    pub(super) fn void(
        &self,
        failure: Failure,
        usage: Usage,
        stood_still: bool,
        silent: &Silent,
    ) -> Input {
        Input::AttemptFailed {
            message: self.call.message.clone(),
            attempt: self.call.attempt,
            failure,
            usage: usage.plus(silent.usage),
            stood_still,
            times: silent.times + 1,
            silent: false,
        }
    }
}
