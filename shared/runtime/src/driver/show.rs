//! Showing what is written here: to our client, and to the driver of the run that this is a task of.

use djinn_core::preview::{Live, Preview};

use super::Driver;
use crate::port::Ports;

impl<P: Ports> Driver<P> {
    /// Shows what is written here: pieces that came together, together.
    pub(super) fn show_local_live(&mut self, news: &[Live]) {
        let mut early = Vec::new();
        for live in news {
            // A task that is driven here writes to the live log by itself.
            if let Live::Preview(preview) = live
                && preview.child.is_none()
            {
                self.live_writer.add_preview(preview);
                if let Some(task) = &self.run.key().task {
                    let child = Some(task.clone());
                    early.push(Live::Preview(Preview { child, ..preview.clone() }));
                }
            }
        }
        self.viewers.show_local_live(news, early, self.run.now_ms());
    }
}
