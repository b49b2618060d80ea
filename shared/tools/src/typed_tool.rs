//! Tools with typed arguments: the struct defines the schema, and each call is deserialized into the struct.

use std::collections::BTreeMap;
use std::time::Duration;

use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, Risk, ToolFailure, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError};
use djinn_runtime::prompt::ToolDescription;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::argument_struct::{derive_schema, describe_parameters, read_arguments};
use crate::schema::ArgumentSchema;

/// Default timeout of a call.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A tool with a struct of arguments.
///
/// ```
/// use djinn_tools::{EffectClass, Language, ToolContext, ToolDefinition, ToolError, ToolOutput, TypedTool};
///
/// struct Dice;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct DiceArguments {
///     /// How many sides the dice has.
///     sides: u32,
/// }
///
/// impl TypedTool for Dice {
///     type Arguments = DiceArguments;
///
///     fn definition(&self, _language: Language) -> ToolDefinition {
///         ToolDefinition::new("dice", "Says which numbers a dice shows.", EffectClass::Read)
///     }
///
///     async fn run(&self, _: &ToolContext, arguments: DiceArguments) -> Result<ToolOutput, ToolError> {
///         Ok(ToolOutput::from_text(format!("1 to {}", arguments.sides)))
///     }
/// }
/// ```
pub trait TypedTool: Send + Sync {
    /// The arguments of a call. A field's doc comment is the description for the model, unless the definition
    /// has another; an `Option` field may be omitted.
    type Arguments: DeserializeOwned + JsonSchema + Send;

    /// Returns the tool's definition in a language. The name must be the same in all languages.
    fn definition(&self, language: Language) -> ToolDefinition;

    /// Runs one call, possibly repeated: see [`ToolContext::idempotency_key`].
    ///
    /// # Errors
    /// Returns [`ToolError::from_detail`] with the text for the model.
    fn run(
        &self,
        context: &ToolContext,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// A tool's definition, without its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The name used by models; [`ToolRegistry`](crate::registry::ToolRegistry) checks valid names.
    pub name: String,
    /// The tool's description for the model, with optional descriptions of single arguments instead of doc
    /// comments.
    pub words: ToolDescription,
    /// The effect of a second call with the same arguments. Decides the handling of a call after a crash:
    /// choose [`EffectClass::Once`] if unsure.
    pub effect: EffectClass,
    /// The risk and the cost of the tool's calls.
    pub policy: ToolPolicy,
    /// Timeout of one call; must fit into an invocation (900 s) minus the handoff margin.
    pub timeout: Duration,
    /// True if the user sees the raw result.
    pub visible: bool,
    /// True if the tool is only offered to agents with the name in their files.
    pub for_agents_only: bool,
    /// The name of the tool whose state the calls receive; `None` for the tool's own state.
    pub state_owner: Option<String>,
}

impl ToolDefinition {
    /// Creates a tool with a timeout of 30 s and hidden raw results. The risk follows the effect: low for
    /// `read`, medium for `idempotent`, high for `once`.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        effect: EffectClass,
    ) -> Self {
        let risk = match effect {
            EffectClass::Read | EffectClass::Agent => Risk::Low,
            EffectClass::Idempotent => Risk::Medium,
            EffectClass::Once => Risk::High,
        };
        Self {
            name: name.into(),
            words: ToolDescription { description: description.into(), parameters: BTreeMap::new() },
            effect,
            policy: ToolPolicy { risk, ..ToolPolicy::default() },
            timeout: TIMEOUT,
            visible: false,
            for_agents_only: false,
            state_owner: None,
        }
    }

    /// Creates a tool with a timeout of 30 s that is only offered to agents with the name in their files.
    pub(crate) fn for_agents(name: &str, words: ToolDescription, effect: EffectClass) -> Self {
        Self { words, for_agents_only: true, ..Self::new(name, "", effect) }
    }
}

/// A [`TypedTool`] in the form required by drivers.
pub struct ToolAdapter<T> {
    tool: T,
    /// The schema with the words of doc comments.
    schema: Value,
    argument_schema: ArgumentSchema,
}

impl<T: TypedTool> ToolAdapter<T> {
    /// Derives and compiles the schema of the tool's arguments.
    #[must_use]
    pub fn new(tool: T) -> Self {
        let schema = derive_schema::<T::Arguments>();
        let argument_schema = ArgumentSchema::new(&schema);
        Self { tool, schema, argument_schema }
    }
}

impl<T: TypedTool> Tool for ToolAdapter<T> {
    fn spec(&self, language: Language) -> ToolSpec {
        let definition = self.tool.definition(language);
        ToolSpec {
            name: definition.name,
            description: definition.words.description,
            schema: describe_parameters(self.schema.clone(), definition.words.parameters),
            effect: definition.effect,
            policy: definition.policy,
            timeout_ms: u64::try_from(definition.timeout.as_millis()).unwrap_or(u64::MAX),
            visible: definition.visible,
        }
    }

    fn is_for_agents_only(&self) -> bool {
        self.tool.definition(Language::En).for_agents_only
    }

    fn state_owner(&self) -> Option<String> {
        self.tool.definition(Language::En).state_owner
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let to_error = |detail| ToolError::Failed { reason: ToolFailure::BadArguments, detail };
            let arguments = read_arguments(arguments).map_err(to_error)?;
            self.tool.run(context, arguments).await
        })
    }

    /// Checks by the schema first, because its errors list up to three problems with the allowed values.
    /// Serde reports the rest.
    fn check_arguments(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        self.argument_schema.check_arguments(arguments)?;
        read_arguments::<T::Arguments>(arguments).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    /// Sends a letter, for tests.
    struct Post;

    #[derive(Deserialize, JsonSchema)]
    struct Letter {
        /// Who gets it.
        to: Address,
        pages: Option<u8>,
        #[serde(default)]
        copies: Vec<Address>,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Address {
        city: String,
        /// Its code has five digits.
        #[serde(deserialize_with = "five_digits")]
        #[schemars(with = "String")]
        code: String,
    }

    fn five_digits<'de, D: serde::Deserializer<'de>>(digits: D) -> Result<String, D::Error> {
        let code = String::deserialize(digits)?;
        match code.len() {
            5 => Ok(code),
            _ => Err(serde::de::Error::custom("a code has five digits")),
        }
    }

    impl TypedTool for Post {
        type Arguments = Letter;

        fn definition(&self, language: Language) -> ToolDefinition {
            let mut definition = ToolDefinition::new("post", "Sends a letter.", EffectClass::Once);
            if language == Language::Zh {
                definition.words.description = "寄信。".to_owned();
                definition.words.parameters.insert("to".to_owned(), "收信人。".to_owned());
            }
            definition
        }

        async fn run(&self, _: &ToolContext, letter: Letter) -> Result<ToolOutput, ToolError> {
            let pages = letter.pages.unwrap_or(1);
            let all = 1 + letter.copies.len();
            let Address { city, code } = letter.to;
            Ok(ToolOutput::from_text(format!("{all} × {pages} to {code} {city}")))
        }
    }

    fn check(arguments: &Value) -> Result<(), String> {
        ToolAdapter::new(Post).check_arguments(arguments.as_object().unwrap())
    }

    #[test]
    fn a_spec_speaks_the_language_and_falls_back_to_doc_comments() {
        let tool = ToolAdapter::new(Post);
        let en = tool.spec(Language::En);
        let zh = tool.spec(Language::Zh);
        let about = |spec: &ToolSpec| spec.schema["properties"]["to"]["description"].clone();
        assert_eq!((about(&en), about(&zh)), (json!("Who gets it."), json!("收信人。")));
        assert_eq!((en.name.as_str(), zh.description.as_str()), ("post", "寄信。"));
        assert_eq!((en.policy.risk, en.timeout_ms, en.visible), (Risk::High, 30_000, false));
        assert_eq!(en.schema["required"], json!(["to"]));
    }

    #[test]
    fn what_the_schema_lets_through_is_refused_with_its_path() {
        let berlin = json!({"city": "Berlin", "code": "10115"});
        assert_eq!(check(&json!({"to": berlin, "pages": 2.0})), Ok(()));
        let short = json!({"to": berlin, "copies": [berlin, {"city": "Bonn", "code": "531"}]});
        assert_eq!(check(&short), Err("/copies/1/code: a code has five digits".to_owned()));
    }

    #[test]
    fn the_schema_names_several_faults_at_once() {
        let error = check(&json!({"to": {"city": 3}, "pages": 300})).unwrap_err();
        assert!(
            error.contains("/to/city: 3 is not of type") && error.contains("/pages:"),
            "{error}"
        );
        assert!(error.contains("\"code\" is a required property"), "{error}");
        assert!(check(&json!({})).unwrap_err().contains("\"to\" is a required property"));
    }
}
