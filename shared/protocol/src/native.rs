//! Djinn's own protocol: the public events, previews with their offsets, and tool output.
//!
//! `event:` is the event's name, or `preview`, `progress` or `run.handed_over`; `data:` is one JSON object. A
//! client keeps previews by (message, attempt, kind, offset), and replaces previews by the
//! `message.completed` that follows.

use djinn_core::entry::Entry;
use serde::Serialize;

use crate::call_progress::CallProgress;
use crate::connection::{Frame, Projection};
use crate::cursor::Cursor;
use crate::event::{PublicCallProgress, PublicEntry, PublicPreview};
use crate::link::SessionLinks;
use crate::preview::Preview;

/// The native projection: public events as JSON, with links to their files.
pub struct NativeProjection {
    links: SessionLinks,
    names_people: bool,
}

impl NativeProjection {
    /// Creates the projection, with file URLs from `links`.
    #[must_use]
    pub fn new(links: SessionLinks) -> Self {
        Self { links, names_people: true }
    }

    /// Removes users' names, for clients that may not see names.
    #[must_use]
    pub fn without_names(self) -> Self {
        Self { names_people: false, ..self }
    }
}

/// The response ends before the run: reconnect with the cursor.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HandedOver {
    #[serde(rename = "type")]
    name: HandedOverName,
    /// The time of the event, Unix milliseconds.
    pub at_ms: i64,
    /// The cursor for the reconnection; null if no event was sent yet.
    pub last_event_id: Option<String>,
}

/// The name of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum HandedOverName {
    #[serde(rename = "run.handed_over")]
    HandedOver,
}

impl Projection for NativeProjection {
    fn project_entry(&mut self, entry: &Entry) -> Vec<Frame> {
        self.links.advance_to(entry.at_ms);
        let public_entry = PublicEntry::new(entry, &self.links);
        let public_entry =
            if self.names_people { public_entry } else { public_entry.without_names() };
        vec![Frame::Data { event: Some(entry.event.name()), data: to_json(&public_entry) }]
    }

    fn project_preview(&mut self, preview: &Preview) -> Vec<Frame> {
        let data = to_json(&PublicPreview::new(preview));
        vec![Frame::Data { event: Some("preview"), data }]
    }

    fn project_progress(&mut self, progress: &CallProgress) -> Vec<Frame> {
        let data = to_json(&PublicCallProgress::new(progress));
        vec![Frame::Data { event: Some("progress"), data }]
    }

    fn heartbeat(&self) -> Frame {
        Frame::Comment("heartbeat")
    }

    fn hand_over(&mut self, cursor: Option<&Cursor>, at_ms: i64) -> Vec<Frame> {
        let last_event_id = cursor.map(ToString::to_string);
        let handed_over = HandedOver { name: HandedOverName::HandedOver, at_ms, last_event_id };
        vec![Frame::Data { event: Some("run.handed_over"), data: to_json(&handed_over) }]
    }

    fn resume(&mut self) {}

    fn has_large_frames(&self) -> bool {
        // A frame has only 150 bytes, so previews are sent unmerged and users see every word on arrival.
        false
    }

    fn can_resume(&self) -> bool {
        true
    }
}

/// Serializes directly, because there may be a frame for every word. Serialization cannot fail: all keys are
/// strings.
fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
