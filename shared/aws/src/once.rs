//! Objects with many concurrent writers, written once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

/// Maximum number of remembered objects.
const MAX_CELLS: usize = 64;

/// The newest objects shared by several items and written by this process. Concurrent writers of an object
/// wait for the first.
#[derive(Debug, Default)]
pub(crate) struct WriteOnceObjects(Mutex<VecDeque<WriteCell>>);

type WriteCell = (String, Arc<OnceCell<()>>);

impl WriteOnceObjects {
    /// Writes an object unless already written; after a failed write, the next caller writes.
    pub(crate) async fn write_once<E>(
        &self,
        object: &str,
        write: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        let cell = {
            let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, cell)) = entries.iter().find(|(other, _)| other == object) {
                Arc::clone(cell)
            } else {
                if entries.len() == MAX_CELLS {
                    entries.pop_front();
                }
                let cell = Arc::new(OnceCell::new());
                entries.push_back((object.to_owned(), Arc::clone(&cell)));
                cell
            }
        };
        cell.get_or_try_init(|| write).await.copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::future::ready;

    #[tokio::test]
    async fn what_many_write_at_once_is_written_once_and_again_after_a_failure() {
        let once = WriteOnceObjects::default();
        let writes = Cell::new(0);
        let write = async |result| {
            writes.set(writes.get() + 1);
            tokio::task::yield_now().await;
            result
        };
        assert_eq!(once.write_once("a", write(Err("unavailable"))).await, Err("unavailable"));
        let many = (0..10).map(|_| once.write_once("a", write(Ok(()))));
        assert!(futures::future::join_all(many).await.iter().all(Result::is_ok));
        assert_eq!(writes.get(), 2);
        once.write_once("b", write(Ok(()))).await.unwrap();
        assert_eq!(writes.get(), 3);
    }

    #[tokio::test]
    async fn it_remembers_the_newest() {
        let once = WriteOnceObjects::default();
        for object in 0..=MAX_CELLS {
            once.write_once(&object.to_string(), ready(Ok::<(), ()>(()))).await.unwrap();
        }
        assert_eq!(once.0.lock().unwrap().len(), MAX_CELLS);
        assert_eq!(once.write_once("1", ready(Err("forgotten"))).await, Ok(()));
        assert_eq!(once.write_once("0", ready(Err("forgotten"))).await, Err("forgotten"));
    }
}
