//! Pages are read in threads of their own, a few at a time: one that is hostile harms no other.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use djinn_runtime::port::outside::{PageOutcome, PageProblemCode, PageTarget};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::{RawPage, read_page, refuse};

/// How many pages are read at once: each takes a processor, and up to twenty times its bytes.
const AT_ONCE: usize = 2;
/// Bytes of the stack of a thread; deep trees are not walked by recursion.
const STACK_BYTES: usize = 16 * 1024 * 1024;
/// How long a page is waited for. One of good faith takes a tenth of a second. The thread goes on after that, but not
/// for long: the worst of some 200 kinds of hostile pages took 4 seconds without optimization.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reads pages, a few at a time.
pub(crate) struct PageReader {
    places: Arc<Semaphore>,
}

impl PageReader {
    pub(crate) fn new() -> Self {
        Self::with_places(AT_ONCE)
    }

    pub(crate) fn with_places(places: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places)) }
    }

    /// What becomes of a page, whatever it is made of. The wait for a place has no bound of its own: others may take
    /// up all of them.
    pub(crate) async fn read(&self, page: RawPage, target: PageTarget) -> PageOutcome {
        let broken = || {
            let sentence = "The page is made so that no text can be read of it.";
            refuse(PageProblemCode::Broken, sentence.to_owned())
        };
        let Ok(place) = Arc::clone(&self.places).acquire_owned().await else { return broken() };
        let (sender, receiver) = oneshot::channel();
        let read = move || {
            // The place is free when the thread has ended, and not when nobody waits for it any more.
            let _place = place;
            let _unheard = sender.send(read_page(page, &target));
        };
        if let Err(error) = thread::Builder::new().stack_size(STACK_BYTES).spawn(read) {
            tracing::error!(%error, "a page could not be read");
            return broken();
        }
        match timeout(PATIENCE, receiver).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => broken(),
        }
    }
}
