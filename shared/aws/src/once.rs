//! Objects that many write, once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

/// How many of them are remembered.
const REMEMBERED: usize = 64;

/// The newest objects that this process wrote for several items to point to. Whoever comes with one
/// of them while it is being written waits for it.
#[derive(Debug, Default)]
pub(crate) struct WrittenOnce(Mutex<VecDeque<Entry>>);

type Entry = (String, Arc<OnceCell<()>>);

impl WrittenOnce {
    /// Writes an object unless that was done; a failed write is left to the next one.
    pub(crate) async fn write<E>(
        &self,
        object: &str,
        write: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        let written = self.entry(object);
        written.get_or_try_init(|| write).await.copied()
    }

    fn entry(&self, object: &str) -> Arc<OnceCell<()>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, written)) = entries.iter().find(|(known, _)| known == object) {
            return Arc::clone(written);
        }
        if entries.len() == REMEMBERED {
            entries.pop_front();
        }
        let written = Arc::new(OnceCell::new());
        entries.push_back((object.to_owned(), Arc::clone(&written)));
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::future::ready;

    #[tokio::test]
    async fn what_many_write_at_once_is_written_once_and_again_after_a_failure() {
        let (once, writes) = (WrittenOnce::default(), Cell::new(0));
        let write = async |result| {
            writes.set(writes.get() + 1);
            tokio::task::yield_now().await;
            result
        };
        assert_eq!(once.write("a", write(Err("unavailable"))).await, Err("unavailable"));
        let many = (0..10).map(|_| once.write("a", write(Ok(()))));
        assert!(futures::future::join_all(many).await.iter().all(Result::is_ok));
        assert_eq!(writes.get(), 2);
        once.write("b", write(Ok(()))).await.unwrap();
        assert_eq!(writes.get(), 3);
    }

    #[tokio::test]
    async fn it_remembers_the_newest() {
        let once = WrittenOnce::default();
        for object in 0..=REMEMBERED {
            once.write(&object.to_string(), ready(Ok::<(), ()>(()))).await.unwrap();
        }
        assert_eq!(once.0.lock().unwrap().len(), REMEMBERED);
        assert_eq!(once.write("1", ready(Err("forgotten"))).await, Ok(()));
        assert_eq!(once.write("0", ready(Err("forgotten"))).await, Err("forgotten"));
    }
}
