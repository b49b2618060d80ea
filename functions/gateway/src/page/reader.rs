//! Reads pages in separate threads, a few at a time, so a hostile page harms no other page.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use djinn_runtime::port::outside::{PageOutcome, PageProblemCode, PageTarget};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::{RawPage, read_page, refuse};

/// Maximum number of pages read at once: each page takes a processor, and up to 20 times its size in memory.
const AT_ONCE: usize = 2;
/// The stack size of a reading thread, in bytes; deep trees are not walked by recursion.
const STACK_BYTES: usize = 16 * 1024 * 1024;
/// Timeout for reading a page. Ordinary pages take 0.1 s. After a timeout, the thread continues, but not for
/// long: the slowest of about 200 kinds of hostile pages took 4 s in a debug build.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reads pages, a few at once.
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

    /// Reads a page of any content and returns the outcome. The wait for a free place has no timeout: other
    /// pages may hold all places.
    pub(crate) async fn read(&self, page: RawPage, target: PageTarget) -> PageOutcome {
        let broken = || {
            let sentence = "The page is made so that no text can be read of it.";
            refuse(PageProblemCode::Broken, sentence.to_owned())
        };
        let Ok(place) = Arc::clone(&self.places).acquire_owned().await else { return broken() };
        let (sender, receiver) = oneshot::channel();
        let work = move || {
            // The place is released when the thread ends, even if the caller stops waiting earlier.
            let _place = place;
            let _unheard = sender.send(read_page(page, &target));
        };
        if let Err(error) = thread::Builder::new().stack_size(STACK_BYTES).spawn(work) {
            tracing::error!(%error, "a page could not be read");
            return broken();
        }
        match timeout(PATIENCE, receiver).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) | Err(_) => broken(),
        }
    }
}
