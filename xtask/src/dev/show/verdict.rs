//! Shows the verdict on the answers of an ensemble.

use serde_json::Value;

use super::Screen;
use crate::dev::json::{list_at, number_at, text_at};

impl Screen {
    /// Prints a line for each answer, with its score and the reason.
    pub(super) fn show_verdict(&mut self, data: &Value) {
        let chosen = text_at(data, "/chosen");
        for score in list_at(data, "/scores") {
            let child = text_at(score, "/child");
            let mark = if child == chosen { "✔" } else { "·" };
            let number = number_at(score, "/score");
            let reason = text_at(score, "/reason");
            self.print_line(&format!("{child} {mark} {number}/100 {reason}"));
        }
        if chosen.is_empty() {
            self.print_line("(the answers are merged)");
        }
    }
}
