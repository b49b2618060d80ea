//! The latest renderings of templates.

use std::collections::HashMap;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// The bytes after which a generation is full.
const GENERATION_BYTES: usize = 2 * 1024 * 1024;

/// The bytes of a rendering besides its text: its key, its place in the map, and what the allocator adds.
const ENTRY_BYTES: usize = 100;

/// The hash of a template and of its values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RenderingKey([u8; 32]);

/// A cache of renderings in two generations. A used rendering moves to the newer generation; the older generation is
/// dropped when the newer is full.
#[derive(Default)]
pub(super) struct RenderedTexts(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    recent: HashMap<RenderingKey, Arc<str>>,
    recent_bytes: usize,
    old: HashMap<RenderingKey, Arc<str>>,
}

/// Hashes JSON as it is written.
struct HashWriter(Sha256);

impl RenderingKey {
    /// Returns `None` for values that are no JSON.
    pub(super) fn of(template: &str, values: &impl Serialize) -> Option<Self> {
        let mut writer = HashWriter(Sha256::new_with_prefix(template));
        writer.0.update([0]);
        serde_json::to_writer(&mut writer, values).ok()?;
        Some(Self(writer.0.finalize().into()))
    }
}

impl RenderedTexts {
    /// Returns a rendering among the latest.
    pub(super) fn find(&self, key: &RenderingKey) -> Option<Arc<str>> {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = generations.recent.get(key) {
            return Some(Arc::clone(text));
        }
        let text = generations.old.remove(key)?;
        generations.insert(key.clone(), Arc::clone(&text));
        Some(text)
    }

    /// Adds a rendering.
    pub(super) fn insert(&self, key: RenderingKey, text: &str) {
        let text = Arc::from(text);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, text);
    }
}

impl Generations {
    fn insert(&mut self, key: RenderingKey, text: Arc<str>) {
        if self.recent_bytes >= GENERATION_BYTES {
            self.old = mem::take(&mut self.recent);
            self.recent_bytes = 0;
        }
        self.recent_bytes += text.len() + ENTRY_BYTES;
        self.recent.insert(key, text);
    }
}

impl io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_renderings_are_kept_and_the_others_dropped() {
        let texts = RenderedTexts::default();
        let key = |nth: u32| RenderingKey::of("{{ nth }}", &nth).unwrap();
        let long = "x".repeat(GENERATION_BYTES);
        texts.insert(key(1), "one");
        texts.insert(key(2), &long);
        // Full: these two are the older generation from now on.
        texts.insert(key(3), "three");
        assert_eq!(texts.find(&key(1)).as_deref(), Some("one"));
        texts.insert(key(4), &long);
        texts.insert(key(5), "five");
        assert_eq!(texts.find(&key(2)), None);
        assert_eq!(texts.find(&key(1)).as_deref(), Some("one"));
        assert_eq!(texts.find(&key(3)).as_deref(), Some("three"));
    }

    #[test]
    fn a_rendering_is_that_of_its_template_and_values() {
        assert_eq!(RenderingKey::of("a", &"b"), RenderingKey::of("a", &"b"));
        assert_ne!(RenderingKey::of("a", &"b"), RenderingKey::of("a", &"c"));
        assert_ne!(RenderingKey::of("a", &"b"), RenderingKey::of("b", &"b"));
    }
}
