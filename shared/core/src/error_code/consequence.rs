//! What has happened by the time an error code is seen.

use super::ErrorCode;

/// What has happened by the time an error code is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// The request changed nothing.
    Nothing,
    /// It may have been carried out; the same request id is carried out once.
    Unknown,
    /// The run is over, and what it wrote and found is kept.
    RunEnded,
    /// The run keeps its place and goes on later.
    RunWaits,
}

impl ErrorCode {
    /// What has happened by the time the code is seen.
    #[must_use]
    pub fn consequence(self) -> Consequence {
        if self == Self::BudgetUsedUp {
            Consequence::RunWaits
        } else if matches!(self, Self::StoreUnavailable | Self::Internal) {
            Consequence::Unknown
        } else if self >= Self::NoModel {
            Consequence::RunEnded
        } else {
            Consequence::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_changed_nothing_and_what_ends_a_run_ended_it() {
        for code in ErrorCode::ALL {
            let refused = code.http_status() < 500 && *code != ErrorCode::BudgetUsedUp;
            assert!(!refused || code.consequence() == Consequence::Nothing, "{code:?}");
        }
        assert_eq!(ErrorCode::Stopped.consequence(), Consequence::RunEnded);
        assert_eq!(ErrorCode::NoIdentity.consequence(), Consequence::Nothing);
    }
}
