//! Limits of concurrent requests: per process, and per host.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Places for requests. A request waits for its host's place first, so that a busy host blocks no requests to
/// other hosts.
pub(crate) struct Places {
    process: Arc<Semaphore>,
    per_host: usize,
    /// The hosts with active requests; an entry is removed soon after the last request.
    hosts: Mutex<BTreeMap<String, Weak<Semaphore>>>,
}

/// A place, released on drop.
pub(crate) struct Place {
    _host: OwnedSemaphorePermit,
    _process: OwnedSemaphorePermit,
}

impl Places {
    pub(crate) fn new(at_once: usize, per_host: usize) -> Self {
        let hosts = Mutex::new(BTreeMap::new());
        Self { process: Arc::new(Semaphore::new(at_once)), per_host, hosts }
    }

    /// Waits for a place. `None` only if the semaphores were closed, which never happens.
    pub(crate) async fn take_place(&self, host: &str) -> Option<Place> {
        let of_host = self.find_host(host).acquire_owned().await.ok()?;
        let of_process = Arc::clone(&self.process).acquire_owned().await.ok()?;
        Some(Place { _host: of_host, _process: of_process })
    }

    fn find_host(&self, host: &str) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.retain(|_, places| places.strong_count() > 0);
        if let Some(places) = hosts.get(host).and_then(Weak::upgrade) {
            return places;
        }
        let places = Arc::new(Semaphore::new(self.per_host));
        hosts.insert(host.to_owned(), Arc::downgrade(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_host_that_nobody_asks_is_forgotten() {
        let places = Places::new(4, 2);
        for number in 0..1000 {
            places.take_place(&format!("host-{number}.example")).await.unwrap();
        }
        let first = places.take_place("first.example").await.unwrap();
        let _second = places.take_place("first.example").await.unwrap();
        assert_eq!(places.hosts.lock().unwrap().len(), 1);
        assert_eq!(places.find_host("first.example").available_permits(), 0);
        drop(first);
        assert_eq!(places.find_host("first.example").available_permits(), 1);
    }
}
