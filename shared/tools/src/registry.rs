//! The tools of a deployment, with checks.

use std::collections::BTreeMap;
use std::sync::Arc;

use djinn_core::language::Language;
use djinn_runtime::port::tool::{RESERVED_NAMES, Tool, Toolbox};

use crate::schema::ArgumentSchema;

/// Characters of a name: OpenAI's, Anthropic's, Gemini's and Bedrock's limit.
const MAX_NAME: usize = 64;

/// The reason for rejecting a tool. The text includes the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationError {
    /// The name is invalid for some provider.
    #[error(
        "a tool cannot be called `{0}`: use 1 to 64 letters, digits, _ and -, and begin with a letter or _"
    )]
    BadName(String),
    /// The name belongs to a built-in tool of every run.
    #[error(
        "a tool cannot be called `{0}`: every run has a tool of that name, so give yours another"
    )]
    BuiltIn(String),
    /// The name is a registered tool's already.
    #[error("two tools are called `{0}`: give one of them another name")]
    Duplicate(String),
    /// The name depends on the language.
    #[error("the tool `{0}` is called `{1}` in Chinese: a name is the same in both languages")]
    TwoNames(String, String),
    /// The tool has no description, so the model would know only the name.
    #[error("the tool `{0}` has no description: say in a sentence what it does, in both languages")]
    NoDescription(String),
    /// The schema cannot be compiled, or is none of an object.
    #[error("the arguments of the tool `{0}` are no JSON object: use a struct with named members")]
    NoObject(String),
    /// The timeout is less than a millisecond.
    #[error("the tool `{0}` has no time: its time-out is less than a millisecond")]
    NoTime(String),
}

/// Tools by name, each valid for every model.
#[derive(Default)]
pub struct ToolRegistry(BTreeMap<String, Arc<dyn Tool>>);

impl ToolRegistry {
    /// Registers a tool.
    ///
    /// # Errors
    /// Returns [`RegistrationError`] if the tool cannot be offered to models.
    pub fn register_tool(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegistrationError> {
        let en = tool.spec(Language::En);
        let zh = tool.spec(Language::Zh);
        let name = en.name;
        if !is_valid_name(&name) {
            return Err(RegistrationError::BadName(name));
        }
        if RESERVED_NAMES.contains(&name.as_str()) {
            return Err(RegistrationError::BuiltIn(name));
        }
        if zh.name != name {
            return Err(RegistrationError::TwoNames(name, zh.name));
        }
        if en.description.trim().is_empty() || zh.description.trim().is_empty() {
            return Err(RegistrationError::NoDescription(name));
        }
        for schema in [en.schema, zh.schema] {
            let is_object = schema.get("type").is_some_and(|kind| kind == "object");
            if !is_object || !ArgumentSchema::new(&schema).is_valid() {
                return Err(RegistrationError::NoObject(name));
            }
        }
        if en.timeout_ms == 0 || zh.timeout_ms == 0 {
            return Err(RegistrationError::NoTime(name));
        }
        if self.0.contains_key(&name) {
            return Err(RegistrationError::Duplicate(name));
        }
        self.0.insert(name, tool);
        Ok(())
    }

    /// Returns the registered tools for drivers.
    #[must_use]
    pub fn into_toolbox(self) -> Toolbox {
        self.0.into_values().fold(Toolbox::default(), Toolbox::with_tool)
    }
}

fn is_valid_name(name: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(is_first)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && name.len() <= MAX_NAME
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
    use djinn_runtime::port::tool::{BoxFuture, ToolContext, ToolError};
    use serde_json::{Map, Value, json};

    /// A tool that is nothing but what it says of itself, in English and Chinese.
    struct Said(ToolSpec, ToolSpec);

    impl Tool for Said {
        fn spec(&self, language: Language) -> ToolSpec {
            match language {
                Language::En => self.0.clone(),
                Language::Zh => self.1.clone(),
            }
        }

        fn run<'a>(
            &'a self,
            _: &'a ToolContext,
            _: &'a Map<String, Value>,
        ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
            Box::pin(async { Ok(ToolOutput::from_text("done")) })
        }

        fn check_arguments(&self, _: &Map<String, Value>) -> Result<(), String> {
            Ok(())
        }
    }

    fn spec(name: &str) -> ToolSpec {
        ToolSpec {
            name: name.to_owned(),
            description: "Does it.".to_owned(),
            schema: json!({"type": "object"}),
            effect: EffectClass::Read,
            policy: ToolPolicy::default(),
            timeout_ms: 1,
            visible: false,
        }
    }

    fn refused(en: ToolSpec, zh: ToolSpec) -> String {
        let mut registry = ToolRegistry::default();
        registry.register_tool(Arc::new(Said(en, zh))).unwrap_err().to_string()
    }

    #[test]
    fn names_are_those_that_every_provider_takes() {
        let most = "x".repeat(64);
        for name in ["a", "_", "file-tool_2", most.as_str()] {
            let mut registry = ToolRegistry::default();
            assert_eq!(registry.register_tool(Arc::new(Said(spec(name), spec(name)))), Ok(()));
            assert!(registry.into_toolbox().find_tool(name).is_some());
        }
        for name in ["", "2nd", "-a", "a.b", "a b", "查", &format!("{most}x")] {
            let refused = refused(spec(name), spec(name));
            let begins = format!("a tool cannot be called `{name}`: use 1 to 64 letters");
            assert!(refused.starts_with(&begins), "{refused}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_tool_is_said() {
        let bare = |description: &str| ToolSpec { description: description.into(), ..spec("a") };
        let with_schema = |schema: Value| ToolSpec { schema, ..spec("a") };
        for (en, zh, says) in [
            (spec("planning"), spec("planning"), "every run has a tool of that name"),
            (spec("ask_user"), spec("ask_user"), "every run has a tool of that name"),
            (spec("a"), spec("b"), "`a` is called `b` in Chinese"),
            (bare(" "), spec("a"), "`a` has no description"),
            (spec("a"), bare(""), "`a` has no description"),
            (with_schema(json!({"type": "string"})), spec("a"), "`a` are no JSON object"),
            (spec("a"), with_schema(json!({"type": "object", "required": 3})), "no JSON object"),
            (ToolSpec { timeout_ms: 0, ..spec("a") }, spec("a"), "`a` has no time"),
        ] {
            let refused = refused(en, zh);
            assert!(refused.contains(says), "{refused}");
        }
    }

    #[test]
    fn no_tool_replaces_another() {
        let mut registry = ToolRegistry::default();
        let said = |name| Arc::new(Said(spec(name), spec(name)));
        registry.register_tool(said("a")).unwrap();
        registry.register_tool(said("b")).unwrap();
        let error = registry.register_tool(said("a")).unwrap_err();
        assert_eq!(error, RegistrationError::Duplicate("a".to_owned()));
        let names = registry.into_toolbox().specs(Language::En).into_iter().map(|spec| spec.name);
        assert_eq!(names.collect::<Vec<_>>(), ["a", "b"]);
    }
}
