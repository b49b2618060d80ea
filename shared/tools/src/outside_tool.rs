//! A tool that is a file of the configuration folder, an HTTP request or a tool of an MCP server: the gateway calls it.

use std::sync::{Arc, OnceLock};

use djinn_core::file::{IMAGE_TYPES, ProductFile, ending_of, image_type_of, media_type_of};
use djinn_core::human::{Interrupt, NeededKey};
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolFailure, ToolOutput, ToolPolicy, ToolSpec};
use djinn_messages::Wording;
use djinn_outside::{OutsideDefinition, ToolProblem, ToolProblemCode, ToolTerms, ToolTrust};
use djinn_runtime::configuration::GoneTools;
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::model::RequestImage;
use djinn_runtime::port::outside::{
    Outside, OutsideContext, OutsideError, StoredUserKey, ToolAnswer, ToolAnswerFile, ToolJob,
};
use djinn_runtime::port::sealed_key::SealedKeys;
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError};
use djinn_runtime::prompt::{self, Prompts};
use djinn_schema::{OriginalSchema, SchemaProblem, ShownSchema, shown_form};
use serde_json::{Map, Value, json};

use crate::Estimate;
use crate::job_files::render_error;

/// The time for the way to the gateway and back, so that the gateway reports the timeout of a server.
const GATEWAY_MS: u64 = 15_000;

/// Maximum characters of arguments in calls of a tool with `trust = "reads"`.
const TRUSTED_CHARS: u32 = 2_000;

/// A tool from a file, offered to models.
pub struct OutsideTool<F> {
    definition: OutsideDefinition,
    ports: Arc<OutsidePorts<F>>,
    /// The parameters as models see them.
    shown: ShownSchema,
    /// The parameters as their author wrote them, for which arguments must be valid.
    original: OriginalSchema,
    /// The descriptions in English and in Chinese, once they were asked for. A folder that changes has new tools.
    descriptions: [OnceLock<String>; 2],
}

/// The ports of tools from files.
pub struct OutsidePorts<F> {
    /// The gateway that sends the requests.
    pub outside: Arc<dyn Outside>,
    /// The store of returned files, and of users' keys.
    pub files: Arc<F>,
    /// The texts about calls, and about servers' tools.
    pub prompts: Arc<Prompts>,
    /// The tools that their servers no longer have.
    pub gone: Arc<GoneTools>,
}

impl<F> OutsideTool<F> {
    /// Compiles the tool's parameters.
    ///
    /// # Errors
    /// Returns [`SchemaProblem`] for parameters that no provider accepts.
    pub fn new(
        definition: OutsideDefinition,
        ports: Arc<OutsidePorts<F>>,
    ) -> Result<Self, SchemaProblem> {
        let shown = match &definition {
            OutsideDefinition::Http(tool) => shown_form(&tool.parameters)?,
            OutsideDefinition::Mcp(tool) => tool.shown.clone(),
        };
        let original = OriginalSchema::compile(definition.parameters())?;
        Ok(Self { definition, ports, shown, original, descriptions: Default::default() })
    }

    fn terms(&self) -> &ToolTerms {
        self.definition.terms()
    }

    /// Returns the description for models.
    fn description(&self, language: Language) -> String {
        let [en, zh] = &self.descriptions;
        let description = match language {
            Language::En => en,
            Language::Zh => zh,
        };
        description.get_or_init(|| self.describe(language)).clone()
    }

    /// Renders the description for models. The words of a server are framed.
    fn describe(&self, language: Language) -> String {
        let with_note =
            |description: &str| format!("{description}\n{}", self.shown.note).trim().to_owned();
        match &self.definition {
            OutsideDefinition::Http(tool) => with_note(&tool.description),
            OutsideDefinition::Mcp(tool) => {
                let values = json!({"server": tool.server, "text": with_note(&tool.description)});
                self.ports.prompts.render(language, prompt::SERVER_TOOL, values)
            }
        }
    }

    /// Returns the arguments with the names of the file.
    fn restore_names(&self, arguments: &Map<String, Value>) -> Value {
        self.shown.restore(&Value::Object(arguments.clone()))
    }
}

impl<F: Files + SealedKeys + Send + Sync> OutsideTool<F> {
    async fn call(
        &self,
        context: &ToolContext,
        arguments: &Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let caller = OutsideContext::of(context);
        let job = ToolJob {
            tool: self.definition.name().to_owned(),
            definition: self.definition.sha256().to_owned(),
            arguments: self.restore_names(arguments),
            idempotency_key: context.idempotency_key(),
            user_key: self.find_user_key(context, &caller).await?,
        };
        match self.send(&caller, job).await {
            Ok(ToolAnswer::Done { text, files }) => {
                self.ports.gone.remove(self.definition.name());
                self.to_output(context, text, files).await
            }
            Ok(ToolAnswer::Interrupted(interrupt)) => Err(ToolError::Interrupted(interrupt)),
            Ok(ToolAnswer::Failed(problem)) => {
                if problem.code == ToolProblemCode::Gone {
                    self.ports.gone.record(self.definition.name(), self.definition.sha256());
                }
                Err(self.explain(context, &problem))
            }
            Err(OutsideError::Unavailable(why)) if self.terms().effect == EffectClass::Once => {
                tracing::warn!(why, "the gateway failed during a call");
                Err(fail(ToolFailure::Uncertain, String::new()))
            }
            Err(error) => {
                let is_reachable = !matches!(error, OutsideError::Unavailable(_));
                let code = if is_reachable { "refused" } else { "unreachable" };
                tracing::warn!(code, why = %error, "the gateway did not call a tool");
                let values = json!({"code": code, "status": 0, "detail": error.to_string()});
                Err(render_error(&self.ports.prompts, context, prompt::OUTSIDE_PROBLEM, values))
            }
        }
    }

    /// Sends a call. If the answer is lost, a `read` or `idempotent` call is sent once more under the same key.
    async fn send(
        &self,
        caller: &OutsideContext,
        job: ToolJob,
    ) -> Result<ToolAnswer, OutsideError> {
        let outside = &self.ports.outside;
        if self.terms().effect == EffectClass::Once {
            return outside.call_tool(caller, job).await;
        }
        let answer = outside.call_tool(caller, job.clone()).await;
        if is_lost(&answer) {
            tracing::info!(
                tool = job.tool,
                "the answer of a call was lost: the call is sent again"
            );
            return outside.call_tool(caller, job).await;
        }
        answer
    }

    /// Returns the caller's own key, never the key of the session's owner. Without a key, the call waits for one.
    async fn find_user_key(
        &self,
        context: &ToolContext,
        caller: &OutsideContext,
    ) -> Result<Option<StoredUserKey>, ToolError> {
        let Some(NeededKey { name, origin }) = self.definition.needed_key() else {
            return Ok(None);
        };
        let owner = caller.key_owner();
        match self.ports.files.find_sealed_key(&owner, &name, &origin).await {
            Ok(Some(key)) => Ok(Some(StoredUserKey { owner, sealed: key.sealed })),
            Ok(None) => Err(self.explain(context, &problem_of(ToolProblemCode::UserKeyMissing))),
            Err(error) => {
                tracing::warn!(%error, "the key of a user was not read");
                Err(self.explain(context, &problem_of(ToolProblemCode::UserKeyUnavailable)))
            }
        }
    }

    /// Returns the interrupt of a call that needs a key. Its page accepts the key, and `continue` repeats the call.
    fn ask_for_key(&self, context: &ToolContext, code: &str, wording: Wording) -> ToolError {
        let key = self.definition.needed_key();
        let message = key.as_ref().map(|NeededKey { name, origin }| {
            let values =
                [("tool", self.definition.name()), ("key", name.as_str()), ("origin", origin)];
            wording.fill(context.language, &values)
        });
        let message = message.unwrap_or_default();
        ToolError::Interrupted(Interrupt { code: code.to_owned(), message, key })
    }

    /// Returns the failure of a call. A call that must not be repeated is uncertain unless it did nothing.
    fn explain(&self, context: &ToolContext, problem: &ToolProblem) -> ToolError {
        match problem.code {
            ToolProblemCode::Changed => fail(ToolFailure::Changed, String::new()),
            ToolProblemCode::UserKeyMissing => {
                self.ask_for_key(context, "key_missing", Wording::KeyMissing)
            }
            ToolProblemCode::UserKeyRejected => {
                self.ask_for_key(context, "key_rejected", Wording::KeyRejected)
            }
            ToolProblemCode::Arguments => fail(ToolFailure::BadArguments, problem.detail.clone()),
            code if code.may_be_done() && self.terms().effect == EffectClass::Once => {
                fail(ToolFailure::Uncertain, String::new())
            }
            code => {
                let status = problem.status.unwrap_or_default();
                let values = json!({"code": code, "status": status, "detail": problem.detail});
                render_error(&self.ports.prompts, context, prompt::OUTSIDE_PROBLEM, values)
            }
        }
    }

    async fn to_output(
        &self,
        context: &ToolContext,
        text: String,
        files: Vec<ToolAnswerFile>,
    ) -> Result<ToolOutput, ToolError> {
        let mut saved: Vec<ProductFile> = Vec::new();
        for file in files {
            saved.push(self.save_file(context, file).await?);
        }
        let notes = saved.iter().map(|file| {
            let values = json!({"name": file.name, "size": file.size, "taken": ""});
            self.ports.prompts.render(context.language, prompt::FILE_WRITTEN, values)
        });
        let parts: Vec<String> = notes.chain((!text.trim().is_empty()).then_some(text)).collect();
        let text = if parts.is_empty() {
            self.ports.prompts.render(context.language, prompt::OUTSIDE_EMPTY, ())
        } else {
            parts.join("\n\n")
        };
        let images = saved.iter().filter(|file| RequestImage::can_show(file)).cloned().collect();
        Ok(ToolOutput { files: saved, images, ..ToolOutput::from_text(text) })
    }

    /// Stores a returned file under its name, with the ending of its media type.
    async fn save_file(
        &self,
        context: &ToolContext,
        file: ToolAnswerFile,
    ) -> Result<ProductFile, ToolError> {
        let ToolAnswerFile { name, media_type, content } = file;
        let prompts = &self.ports.prompts;
        let media_type = find_media_type(&name, media_type, &content);
        let name = match name.rsplit_once('.') {
            Some(_) => name,
            None => format!("{name}.{}", ending_of(&media_type)),
        };
        let broken = || {
            let values = json!({"code": ToolProblemCode::BrokenFile, "status": 0, "detail": ""});
            render_error(prompts, context, prompt::OUTSIDE_PROBLEM, values)
        };
        let new = NewFile {
            name: FileName::new(name).map_err(|_| broken())?,
            description: self.definition.name().to_owned(),
            internal: false,
            media_type,
            uploaded: false,
            writer: context.user.clone(),
        };
        let result = self.ports.files.write_file(&context.session, &new, &content).await;
        result.map_err(|_| render_error(prompts, context, prompt::FILE_UNAVAILABLE, json!({})))
    }
}

/// Returns true if the gateway died, or if the server broke the connection before its answer was complete.
fn is_lost(answer: &Result<ToolAnswer, OutsideError>) -> bool {
    match answer {
        Err(OutsideError::Unavailable(_)) => true,
        Ok(ToolAnswer::Failed(problem)) => problem.code == ToolProblemCode::Protocol,
        Ok(ToolAnswer::Done { .. } | ToolAnswer::Interrupted(_)) | Err(_) => false,
    }
}

fn problem_of(code: ToolProblemCode) -> ToolProblem {
    ToolProblem { code, status: None, detail: String::new() }
}

fn fail(reason: ToolFailure, detail: String) -> ToolError {
    ToolError::Failed { reason, detail }
}

/// Returns the type of an image by its content, or else the declared type, or the type of the name.
fn find_media_type(name: &str, declared: Option<String>, content: &[u8]) -> String {
    if let Some(image) = image_type_of(content) {
        return image.to_owned();
    }
    let other = declared.unwrap_or_else(|| media_type_of(name).to_owned());
    // A model's provider rejects a request with an image that is none.
    if IMAGE_TYPES.contains(&&*other) { media_type_of("").to_owned() } else { other }
}

impl<F: Files + SealedKeys + Send + Sync> Tool for OutsideTool<F> {
    fn spec(&self, language: Language) -> ToolSpec {
        let terms = self.terms();
        ToolSpec {
            name: self.definition.name().to_owned(),
            description: self.description(language),
            schema: self.shown.schema.clone(),
            effect: terms.effect,
            policy: ToolPolicy {
                risk: terms.risk,
                sends_out: true,
                sends_to_operator: terms.trust == ToolTrust::All,
                trusted_chars: (terms.trust == ToolTrust::Reads).then_some(TRUSTED_CHARS),
                untrusted: true,
                echoes_model: terms.trust == ToolTrust::None,
                definition: Some(self.definition.sha256().to_owned()),
                estimate: Estimate { tokens: 1_000, ms: 2_000, calls: 1, ..Estimate::default() },
                ..ToolPolicy::default()
            },
            timeout_ms: u64::from(terms.timeout_s) * 1_000 + GATEWAY_MS,
            visible: terms.is_visible,
        }
    }

    fn name(&self) -> String {
        self.definition.name().to_owned()
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.call(context, arguments))
    }

    fn check_arguments(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        let arguments = self.restore_names(arguments);
        self.original.check_arguments(&arguments)?;
        match &self.definition {
            OutsideDefinition::Http(tool) => {
                tool.fill(&arguments).map(drop).map_err(|error| error.to_string())
            }
            OutsideDefinition::Mcp(_) => Ok(()),
        }
    }

    fn is_offered_to(&self, agent: Option<&str>) -> bool {
        let agents = &self.terms().offer.agents;
        agents.is_empty() || agent.is_some_and(|agent| agents.iter().any(|own| own == agent))
    }
}

#[cfg(test)]
mod tests;
