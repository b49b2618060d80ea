//! Tools that change during runs, like tools of a deployment.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError};
use serde_json::{Map, Value, json};

/// The common version of several tools, from 0.
#[derive(Debug, Clone, Default)]
pub struct ToolVersion(Arc<AtomicUsize>);

impl ToolVersion {
    /// Advances all tools of this version to the next.
    pub fn advance(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A tool that differs in each version. It returns at once and accepts any arguments.
#[derive(Debug, Clone)]
pub struct VersionedTool {
    /// The name of the tool; a call of `deploy` advances the version.
    pub name: String,
    /// The current version, shared with other tools.
    pub version: ToolVersion,
    /// The effect class and the JSON type of the one argument, for each version. The last entry stays in
    /// effect.
    pub versions: Vec<(EffectClass, &'static str)>,
}

impl VersionedTool {
    /// Creates a reading tool with one version.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let version = ToolVersion::default();
        let versions = vec![(EffectClass::Read, "string")];
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
