//! The queue of jobs waiting for memory; users take turns.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Maximum number of waiting jobs, in total and per user.
const MAX_WAITING: usize = 200;
const MAX_WAITING_OF_USER: usize = 50;

/// A queue for jobs of users `U`.
pub(crate) struct JobQueue<U> {
    order: Mutex<QueueOrder<U>>,
    changed: watch::Sender<()>,
}

/// The permission of a job to run. Dropping the value frees the slot.
pub(crate) struct QueueSlot<U: Clone + PartialEq> {
    queue: Arc<JobQueue<U>>,
    ticket: u64,
}

/// The error for too many waiting jobs, of all users or of this user.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QueueFull {
    pub(crate) waiting: usize,
}

/// The order of a queue, without the waiting: start-time fair queueing (Goyal, Vin and Cheng, 1996). A job
/// counts as one unit of work.
struct QueueOrder<U> {
    /// Maximum number of parallel jobs.
    limit: usize,
    next_ticket: u64,
    /// The start tag of the last started job.
    virtual_time: u64,
    /// The finish tags of users' last jobs, while ahead of the virtual time.
    finish_tags: Vec<(U, u64)>,
    working: Vec<u64>,
    /// The users of waiting jobs, by start tag and ticket.
    waiting: BTreeMap<(u64, u64), U>,
}

impl<U: Clone + PartialEq> JobQueue<U> {
    /// Creates a queue for `limit` parallel jobs, at least 1.
    pub(crate) fn new(limit: usize) -> Self {
        Self { order: Mutex::new(QueueOrder::new(limit)), changed: watch::Sender::new(()) }
    }

    /// Sets the maximum number of parallel jobs.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.lock().limit = limit.max(1);
        self.changed.send_replace(());
    }

    /// Waits until a job of this user may run. Calls `report` with each new place in the queue, counted from
    /// 1. Dropping the future removes the job from the queue.
    pub(crate) async fn take_turn(
        self: &Arc<Self>,
        user: &U,
        mut report: impl FnMut(usize),
    ) -> Result<QueueSlot<U>, QueueFull> {
        let mut changes = self.changed.subscribe();
        let ticket = self.lock().enter(user.clone())?;
        // The new job may precede others.
        self.changed.send_replace(());
        // The job stays in the queue until this value is dropped.
        let turn = QueueSlot { queue: Arc::clone(self), ticket };
        let mut last_place = 0;
        loop {
            changes.mark_unchanged();
            let place = self.lock().advance(ticket);
            if place == 0 {
                self.changed.send_replace(());
                return Ok(turn);
            }
            if place != last_place {
                report(place);
                last_place = place;
            }
            // The sender lives as long as the queue.
            let _open = changes.changed().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueOrder<U>> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<U: Clone + PartialEq> Drop for QueueSlot<U> {
    fn drop(&mut self) {
        self.queue.lock().leave(self.ticket);
        self.queue.changed.send_replace(());
    }
}

impl<U: Clone + PartialEq> QueueOrder<U> {
    fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            next_ticket: 0,
            virtual_time: 0,
            finish_tags: Vec::new(),
            working: Vec::new(),
            waiting: BTreeMap::new(),
        }
    }

    fn enter(&mut self, user: U) -> Result<u64, QueueFull> {
        let of_user = self.waiting.values().filter(|other| **other == user).count();
        if self.waiting.len() >= MAX_WAITING || of_user >= MAX_WAITING_OF_USER {
            return Err(QueueFull { waiting: self.waiting.len() });
        }
        self.finish_tags.retain(|(_, tag)| *tag > self.virtual_time);
        let index = self.finish_tags.iter().position(|(other, _)| *other == user);
        let last = index.map(|index| self.finish_tags.swap_remove(index).1);
        let start = last.unwrap_or(self.virtual_time);
        self.finish_tags.push((user.clone(), start + 1));
        self.next_ticket += 1;
        self.waiting.insert((start, self.next_ticket), user);
        Ok(self.next_ticket)
    }

    fn leave(&mut self, ticket: u64) {
        self.working.retain(|working| *working != ticket);
        self.waiting.retain(|(_, waiting), _| *waiting != ticket);
    }

    /// Returns a job's place in the queue, from 1. Returns 0 and counts the job as running if the job may
    /// run.
    fn advance(&mut self, ticket: u64) -> usize {
        let position = self.waiting.keys().enumerate().find(|(_, (_, waiting))| *waiting == ticket);
        let Some((ahead, (tag, _))) = position else { return 0 };
        let tag = *tag;
        let free = self.limit.saturating_sub(self.working.len());
        if ahead >= free {
            return ahead - free + 1;
        }
        self.waiting.remove(&(tag, ticket));
        self.working.push(ticket);
        self.virtual_time = self.virtual_time.max(tag);
        0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use futures::poll;

    use super::*;

    /// Lets the jobs of these users come one after the other, and returns them in the order in which they work.
    fn work_in_turn(limit: usize, users: &str) -> String {
        let mut order = QueueOrder::new(limit);
        let mut tickets: Vec<_> =
            users.chars().map(|user| (order.enter(user).unwrap(), user)).collect();
        let mut worked = String::new();
        let mut working = VecDeque::new();
        while !tickets.is_empty() || !working.is_empty() {
            tickets.retain(|(ticket, user)| {
                let waits = order.advance(*ticket) > 0;
                if !waits {
                    worked.push(*user);
                    working.push_back(*ticket);
                }
                waits
            });
            order.leave(working.pop_front().unwrap());
        }
        worked
    }

    #[test]
    fn users_take_turns_whoever_came_first() {
        for (limit, users, worked) in [
            (1, "a", "a"),
            (1, "abc", "abc"),
            (1, "aaab", "abaa"),
            (2, "aaaabb", "ababaa"),
            (4, "aaaab", "aaaba"),
            (1, "aabbcc", "abcabc"),
        ] {
            assert_eq!(work_in_turn(limit, users), worked, "{limit} {users}");
        }
    }

    #[tokio::test]
    async fn waiting_job_is_told_its_place_and_leaves_when_it_is_dropped() {
        let queue = Arc::new(JobQueue::new(1));
        let first = queue.take_turn(&"a", |_| {}).await.unwrap();
        let second_places = Mutex::new(Vec::new());
        let mut second =
            Box::pin(queue.take_turn(&"a", |place| second_places.lock().unwrap().push(place)));
        assert!(poll!(&mut second).is_pending());
        let third_places = Mutex::new(Vec::new());
        let mut third =
            Box::pin(queue.take_turn(&"b", |place| third_places.lock().unwrap().push(place)));
        assert!(poll!(&mut third).is_pending());
        assert!(poll!(&mut second).is_pending());
        // The user who has a job at work comes after the one who has none.
        assert_eq!(*second_places.lock().unwrap(), [1, 2]);
        assert_eq!(*third_places.lock().unwrap(), [1]);
        drop(third);
        assert!(poll!(&mut second).is_pending());
        assert_eq!(*second_places.lock().unwrap(), [1, 2, 1]);
        drop(first);
        assert!(poll!(&mut second).is_ready());
        queue.set_limit(0);
        assert_eq!(queue.lock().limit, 1);
    }

    #[tokio::test]
    async fn full_queue_takes_no_job() {
        let queue = Arc::new(JobQueue::new(1));
        let _first = queue.take_turn(&0, |_| {}).await.unwrap();
        let mut waiting: Vec<_> = (0..MAX_WAITING)
            .map(|nth| {
                let queue = Arc::clone(&queue);
                Box::pin(async move { queue.take_turn(&(nth / MAX_WAITING_OF_USER), |_| {}).await })
            })
            .collect();
        for turn in &mut waiting {
            assert!(poll!(turn).is_pending());
        }
        let refused = queue.take_turn(&9, |_| {}).await.err();
        assert_eq!(refused, Some(QueueFull { waiting: MAX_WAITING }));
    }

    #[tokio::test]
    async fn user_fills_a_part_of_the_queue_alone() {
        let queue = Arc::new(JobQueue::new(1));
        let _first = queue.take_turn(&1, |_| {}).await.unwrap();
        let mut waiting: Vec<_> =
            (0..MAX_WAITING_OF_USER).map(|_| Box::pin(queue.take_turn(&1, |_| {}))).collect();
        for turn in &mut waiting {
            assert!(poll!(turn).is_pending());
        }
        let refused = queue.take_turn(&1, |_| {}).await.err();
        assert_eq!(refused, Some(QueueFull { waiting: MAX_WAITING_OF_USER }));
        let mut other = Box::pin(queue.take_turn(&2, |_| {}));
        assert!(poll!(&mut other).is_pending());
        drop(waiting);
        // Jobs that were given up count no more.
        assert!(poll!(&mut Box::pin(queue.take_turn(&1, |_| {}))).is_pending());
    }
}
