//! Tools that become others while runs are at work, as a deployment's do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError};
use serde_json::{Map, Value, json};

/// The version that several tools have together, from 0.
#[derive(Debug, Clone, Default)]
pub struct ToolVersion(Arc<AtomicUsize>);

impl ToolVersion {
    /// Makes all tools of this version those of the next.
    pub fn advance(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A tool that is another in each version. It answers at once and takes whatever arguments it is given.
#[derive(Debug, Clone)]
pub struct VersionedTool {
    /// What it is called; a call of one that is called `deploy` makes the next version.
    pub name: String,
    /// Which version there is now.
    pub version: ToolVersion,
    /// What it is in each version: its effect class, and the JSON type of its one argument. The last one stays.
    pub versions: Vec<(EffectClass, &'static str)>,
}

impl VersionedTool {
    /// A tool that reads and stays as it is.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let (version, versions) = (ToolVersion::default(), vec![(EffectClass::Read, "string")]);
        Self { name: name.into(), version, versions }
    }
}

impl Tool for VersionedTool {
    fn spec(&self, _language: Language) -> ToolSpec {
        let version = self.version.0.load(Ordering::SeqCst);
        let now = self.versions.get(version).or(self.versions.last());
        let (effect, of) = now.copied().unwrap_or((EffectClass::Read, "string"));
        ToolSpec {
            name: self.name.clone(),
            description: format!("Does what {} is for.", self.name),
            schema: json!({"type": "object", "properties": {"of": {"type": of}}}),
            effect,
            policy: ToolPolicy::default(),
            timeout_ms: 60_000,
            visible: true,
        }
    }

    fn run<'a>(
        &'a self,
        _context: &'a ToolContext,
        _arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async {
            if self.name == "deploy" {
                self.version.advance();
            }
            Ok(ToolOutput::from_text(format!("{} is done", self.name)))
        })
    }

    fn check_arguments(&self, _arguments: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }
}
