//! Djinn's own words to a model: the templates under `prompts/`.
//!
//! Every fragment has the name of its file, and a cap. A rendering above the cap is cut and marked.
//! `prompts/README.md` lists the purpose and the variables of each fragment.

mod fragments;
pub mod frame;
mod own;
mod rendered_texts;
mod tool_description;
mod truncate;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use djinn_core::id::sha256_hex;
use djinn_core::language::Language;
pub use fragments::*;
use minijinja::value::Serde;
use minijinja::{Environment, Template, UndefinedBehavior, Value};
pub use own::OwnPrompts;
use rendered_texts::{RenderedTexts, RenderingKey};
use serde::Serialize;
pub use tool_description::ToolDescription;
use truncate::truncate_owned;
pub use truncate::truncate_text;

/// The mark at the end of a cut rendering.
pub const CUT_MARK: &str = "…[cut]";

/// A template with its cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// The path under `prompts/<language>/`, without the extension.
    pub name: &'static str,
    /// The maximum length of a rendering, in characters.
    pub max_chars: usize,
    en: &'static str,
    zh: &'static str,
}

impl Fragment {
    /// Returns the unrendered template in a language.
    #[must_use]
    pub fn template(&self, language: Language) -> &'static str {
        match language {
            Language::En => self.en,
            Language::Zh => self.zh,
        }
    }

    /// Returns true if the fragment describes a tool, with a section for each parameter.
    #[must_use]
    pub fn describes_tool(&self) -> bool {
        ["tool/", "mcp/"].iter().any(|folder| self.name.starts_with(folder))
            && self.en.contains("\n## ")
    }
}

/// Renders fragments. The filter `framed` of the templates frames foreign text as data.
#[derive(Default)]
pub struct Prompts {
    /// Djinn's templates, compiled at their first rendering.
    compiled: Arc<CompiledTemplates>,
    /// The latest renderings: a request repeats the texts of all earlier turns.
    renderings: Arc<RenderedTexts>,
    /// The deployment's current templates.
    own: RwLock<Arc<OwnPrompts>>,
}

type CompiledTemplates = RwLock<BTreeMap<(&'static str, Language), Template<'static, 'static>>>;

/// The version of Djinn's own templates, in hex.
static SHIPPED_VERSION: LazyLock<String> = LazyLock::new(|| {
    let all: Vec<String> =
        ALL.iter().map(|f| format!("{}\0{}\0{}\0", f.name, f.en, f.zh)).collect();
    sha256_hex(all.concat().as_bytes())
});

/// The environment in which templates are compiled.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("framed", frame::frame_filter);
    environment
});

impl Prompts {
    /// Renders a fragment. Text above the fragment's cap is cut and marked.
    ///
    /// A template that cannot be rendered is a bug, which the tests of `prompts/` find. Such a bug is logged,
    /// and the model receives the unrendered template. A deployment's own template is replaced by Djinn's.
    pub fn render(
        &self,
        language: Language,
        fragment: Fragment,
        context: impl Serialize,
    ) -> String {
        if let Some(text) = self.render_own(language, fragment, &context) {
            return truncate_owned(text, fragment.max_chars);
        }
        let outcome = self.render_once(fragment.template(language), &context, |values| {
            self.compile_template(language, fragment)?.render(values)
        });
        let text = outcome.unwrap_or_else(|error| {
            tracing::error!(fragment = fragment.name, kind = ?error.kind(), "prompt not rendered");
            fragment.template(language).trim().to_owned()
        });
        truncate_owned(text, fragment.max_chars)
    }

    /// Renders a deployment's own template, compiled for each new rendering: own templates are few and can change.
    fn render_own(
        &self,
        language: Language,
        fragment: Fragment,
        context: &impl Serialize,
    ) -> Option<String> {
        let own = self.own().find_text(fragment, language)?;
        let outcome =
            self.render_once(&own, context, |values| ENVIRONMENT.render_str(own.trim(), values));
        outcome
            .inspect_err(|error| {
                let fragment = fragment.name;
                let kind = error.kind();
                tracing::error!(fragment, ?kind, "a deployment's prompt is not rendered: ours is");
            })
            .ok()
    }

    /// Renders the instructions of an agent's file. Text above `max_chars` is cut and marked. Instructions
    /// that cannot be rendered are returned unrendered; the reader of the file checks for this.
    pub fn render_text(
        &self,
        template: &str,
        name: &str,
        context: impl Serialize,
        max_chars: usize,
    ) -> String {
        let outcome = self.render_once(template, &context, |values| {
            ENVIRONMENT.render_str(template.trim(), values)
        });
        let text = outcome.unwrap_or_else(|error| {
            tracing::error!(agent = name, kind = ?error.kind(), "instructions not rendered");
            template.trim().to_owned()
        });
        truncate_owned(text, max_chars)
    }

    /// Renders a template with values, unless the same rendering is among the latest.
    fn render_once(
        &self,
        template: &str,
        context: &impl Serialize,
        render: impl FnOnce(Value) -> Result<String, minijinja::Error>,
    ) -> Result<String, minijinja::Error> {
        let key = RenderingKey::of(template, context);
        if let Some(text) = key.as_ref().and_then(|key| self.renderings.find(key)) {
            return Ok(text.as_ref().to_owned());
        }
        let text = render(Value::from(Serde(context)))?;
        if let Some(key) = key {
            self.renderings.insert(key, &text);
        }
        Ok(text)
    }

    /// Compiles a template once.
    fn compile_template(
        &self,
        language: Language,
        fragment: Fragment,
    ) -> Result<Template<'static, 'static>, minijinja::Error> {
        let key = (fragment.name, language);
        let existing =
            self.compiled.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(template) = existing {
            return Ok(template);
        }
        // Only the template's own line end is trimmed, never white space from a value.
        let template = ENVIRONMENT.template_from_str(fragment.template(language).trim())?;
        let mut templates = self.compiled.write().unwrap_or_else(PoisonError::into_inner);
        Ok(templates.entry(key).or_insert(template).clone())
    }

    /// Frames foreign text as data, cut to `max_chars` characters.
    #[must_use]
    pub fn frame_text(&self, text: &str, max_chars: usize) -> String {
        frame::frame_text(text, max_chars.min(FRAME.max_chars))
    }

    /// Returns the SHA-256 over all current fragments.
    pub fn version(&self) -> String {
        self.own().version(&SHIPPED_VERSION)
    }

    /// Replaces the deployment's own prompts from now on.
    pub fn replace_own(&self, own: OwnPrompts) {
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(own);
    }

    /// Returns a copy of the current prompts that never changes.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        let compiled = Arc::clone(&self.compiled);
        let renderings = Arc::clone(&self.renderings);
        Self { compiled, renderings, own: RwLock::new(self.own()) }
    }

    fn own(&self) -> Arc<OwnPrompts> {
        Arc::clone(&self.own.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_does_not_end_in_half_a_placeholder() {
        let cut = [10, 19, 20, 21].map(|most| truncate_text("Look at https://123.", most));
        assert_eq!(
            cut,
            ["Look…[cut]", "Look at https…[cut]", "Look at https://123.", "Look at https://123."]
        );
        assert_eq!(super::truncate_text(&"Look at https://123. ".repeat(3), 24), "Look at …[cut]");
    }
}
