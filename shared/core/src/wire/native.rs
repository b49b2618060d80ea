//! Djinn's own protocol: the entries themselves, and previews with their offsets.
//!
//! `event:` is the entry's name, or `preview`, or `run.handed_over`; `data:` is one JSON object.
//! A client keeps previews by (message, attempt, kind, offset) and replaces them by the
//! `message.completed` that follows.

use serde_json::{Map, Value, json};

use super::cursor::Cursor;
use super::link::SessionLinks;
use super::{Frame, Projection};
use crate::entry::{Entry, Event};
use crate::file::ProductFile;
use crate::preview::Preview;

/// The native projection: entries as JSON, with links to their files.
pub struct NativeProjection {
    links: SessionLinks,
    names_people: bool,
}

impl NativeProjection {
    /// File URLs are made with `links`.
    #[must_use]
    pub fn new(links: SessionLinks) -> Self {
        Self { links, names_people: true }
    }

    /// The same for a client who is not told who said what.
    #[must_use]
    pub fn without_names(self) -> Self {
        Self { names_people: false, ..self }
    }

    /// Gives files their URLs and hides where their bytes lie.
    fn add_file_links(&self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                if members.contains_key("media_type") {
                    link_file(&self.links, members);
                }
                members.values_mut().for_each(|member| self.add_file_links(member));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.add_file_links(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// A file as this protocol names it, also in answers that are no stream.
#[must_use]
pub fn file_to_json(links: &SessionLinks, file: &ProductFile) -> Value {
    let mut value = json!(file);
    if let Some(members) = value.as_object_mut() {
        link_file(links, members);
    }
    value
}

/// Says where something that is asked can be answered without credentials, also in answers that are no
/// stream.
pub fn add_response_link(ask: &mut Value, link: Option<String>) {
    if let (Some(members), Some(link)) = (ask.as_object_mut(), link) {
        members.insert("link".to_owned(), link.into());
    }
}

/// Puts a file's URLs in the place of where its bytes lie.
fn link_file(links: &SessionLinks, members: &mut Map<String, Value>) {
    let file = serde_json::from_value::<ProductFile>(Value::Object(members.clone()));
    members.remove("object");
    if let Ok(file) = file {
        members.insert("preview_url".into(), links.preview_url(&file).into());
        members.insert("download_url".into(), links.download_url(&file).into());
    }
}

impl Projection for NativeProjection {
    fn project_entry(&mut self, entry: &Entry) -> Vec<Frame> {
        self.links.advance_to(entry.at_ms);
        let mut value = json!(entry);
        if let (Event::UserMessageAdded { .. } | Event::HumanResolved(_), false, Some(members)) =
            (&entry.event, self.names_people, value.as_object_mut())
        {
            members.shift_remove("by");
        }
        // Arguments are the model's own words and stay as they are, and so does what is asked of them.
        let kept =
            ["arguments", "requests"].map(|name| (name, value.get_mut(name).map(Value::take)));
        self.add_file_links(&mut value);
        if let Some(members) = value.as_object_mut() {
            members.extend(kept.into_iter().filter_map(|(name, kept)| Some((name.into(), kept?))));
        }
        if let Event::HumanRequested { requests: asks, .. } = &entry.event {
            let shown = value.get_mut("requests").and_then(Value::as_array_mut);
            for (ask, shown) in asks.iter().zip(shown.into_iter().flatten()) {
                add_response_link(shown, self.links.response_link(ask, entry.at_ms));
            }
        }
        vec![Frame::Data { event: Some(entry.event.name()), data: value.to_string() }]
    }

    fn project_preview(&mut self, preview: &Preview) -> Vec<Frame> {
        // Written at once, since there may be one for every word. It has no key that is no text.
        let data = serde_json::to_string(preview).unwrap_or_default();
        vec![Frame::Data { event: Some("preview"), data }]
    }

    fn heartbeat(&self) -> Frame {
        Frame::Comment("heartbeat")
    }

    fn hand_over(&mut self, cursor: Option<&Cursor>, at_ms: i64) -> Vec<Frame> {
        let after = cursor.map(ToString::to_string);
        let data = json!({"type": "run.handed_over", "at_ms": at_ms, "last_event_id": after});
        vec![Frame::Data { event: Some("run.handed_over"), data: data.to_string() }]
    }

    fn resume(&mut self) {}

    fn has_large_frames(&self) -> bool {
        // A frame is 150 bytes, and who watches a model write sees each word when it comes.
        false
    }

    fn can_resume(&self) -> bool {
        true
    }
}
