//! The raw protocol's frames.

use serde_json::json;

use super::{AgentResponse, Translator};
use crate::connection::{Frame, Projection};
use crate::cursor::Cursor;
use crate::preview::Preview;
use djinn_core::entry::Entry;

/// The raw projection: one JoyAgent event a frame, without the UI's envelope.
pub struct JoyAgent(Translator);

impl JoyAgent {
    /// Creates the raw projection of `translator`'s events.
    #[must_use]
    pub fn new(translator: Translator) -> Self {
        Self(translator)
    }
}

impl Projection for JoyAgent {
    fn project_entry(&mut self, entry: &Entry) -> Vec<Frame> {
        self.0.translate_entry(entry).iter().map(to_frame).collect()
    }

    fn project_preview(&mut self, preview: &Preview) -> Vec<Frame> {
        self.0.translate_preview(preview).iter().map(to_frame).collect()
    }

    fn heartbeat(&self) -> Frame {
        Frame::Data { event: None, data: "heartbeat".to_owned() }
    }

    fn hand_over(&mut self, cursor: Option<&Cursor>, at_ms: i64) -> Vec<Frame> {
        // This client can resume, so the frame has the cursor, and the run is not marked as finished.
        let mut event = self.0.hand_over(at_ms);
        event.message_type = "hand_over";
        event.finish = false;
        event.ext = Some(json!({"lastEventId": cursor.map(ToString::to_string)}));
        vec![to_frame(&event)]
    }

    fn resume(&mut self) {
        self.0.resume();
    }

    fn begin_late(&mut self, at_ms: i64) -> Vec<Frame> {
        self.0.begin_late(at_ms).iter().map(to_frame).collect()
    }

    fn has_large_frames(&self) -> bool {
        true
    }

    fn can_resume(&self) -> bool {
        // The frame has the cursor, but clients of the original do not resume.
        false
    }
}

fn to_frame(event: &AgentResponse) -> Frame {
    Frame::Data { event: None, data: json!(event).to_string() }
}
