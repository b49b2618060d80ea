//! Calls of tools of MCP servers.

use std::time::Duration;

use djinn_core::id::FileName;
use djinn_mcp::{McpCall, McpEndpoint, McpError, McpErrorCode, McpHeader, McpResult, McpTransport};
use djinn_outside::{McpTool, ServerTransport, ToolProblem, ToolProblemCode};
use djinn_runtime::port::outside::{ToolAnswer, ToolAnswerFile, ToolJob};
use djinn_runtime::port::secret::Secrets;
use serde_json::Value;

use super::redaction::Redaction;
use super::{CallHeaders, KeyValues, ToolCaller, fail, is_key, reveal};
use crate::configuration::CallableTool;
use crate::keys::KEY_REFUSALS;

/// Maximum characters of a tool's own words about its failure.
const MAX_DETAIL: usize = 500;

impl<S: Secrets> ToolCaller<'_, S> {
    /// Calls a tool of a server. No key is in the answer.
    pub(super) async fn call_server(
        &self,
        configured: &CallableTool,
        tool: &McpTool,
        job: &ToolJob,
        headers: &CallHeaders,
    ) -> ToolAnswer {
        let Value::Object(arguments) = &job.arguments else {
            return fail(ToolProblemCode::Arguments, "the arguments are no JSON object".to_owned());
        };
        let call = McpCall {
            tool: tool.own_name.clone(),
            arguments: arguments.clone(),
            transport: match tool.transport {
                ServerTransport::StreamableHttp => McpTransport::StreamableHttp,
                ServerTransport::Sse => McpTransport::Sse,
            },
            revision: tool.revision.clone(),
            idempotency_key: headers.idempotency_key.clone(),
            traceparent: headers.traceparent.clone(),
        };
        let send = async |keys: &KeyValues| {
            self.servers.call_tool(&build_endpoint(tool, keys), call.clone()).await
        };
        let mut keys = match self.find_keys(configured, job.user_key.as_ref()).await {
            Ok(keys) => keys,
            Err(problem) => return ToolAnswer::Failed(problem),
        };
        let mut result = send(&keys).await;
        // After a rejected key, the call is sent again if a stored key has changed.
        if is_rejected(&result) && self.forget_keys(configured, &keys) {
            match self.find_keys(configured, job.user_key.as_ref()).await {
                Ok(new_keys) if new_keys != keys => {
                    result = send(&new_keys).await;
                    keys = new_keys;
                }
                Ok(_) => {}
                Err(problem) => return ToolAnswer::Failed(problem),
            }
        }
        to_answer(&tool.name, result, &Redaction::new(&keys))
    }
}

fn is_rejected(result: &Result<McpResult, McpError>) -> bool {
    let status = result.as_ref().err().and_then(|error| error.status);
    status.is_some_and(|status| KEY_REFUSALS.contains(&status))
}

fn build_endpoint(tool: &McpTool, keys: &KeyValues) -> McpEndpoint {
    let headers = tool.headers.iter().map(|header| McpHeader {
        name: header.name.clone(),
        value: header.value.iter().map(|part| reveal(part, keys)).collect(),
        is_key: header.value.iter().any(is_key),
    });
    McpEndpoint {
        url: tool.url.clone(),
        headers: headers.collect(),
        timeout: Duration::from_secs(u64::from(tool.terms.timeout_s)),
    }
}

fn to_answer(tool: &str, result: Result<McpResult, McpError>, redaction: &Redaction) -> ToolAnswer {
    match result {
        Ok(McpResult { text, is_error: true, .. }) => {
            let words = redaction.redact_text(text);
            fail(ToolProblemCode::Reported, words.trim().chars().take(MAX_DETAIL).collect())
        }
        Ok(McpResult { text, files, .. }) => {
            let mut named: Vec<ToolAnswerFile> = Vec::new();
            for file in files {
                let is_free = |name: &String| named.iter().all(|other| other.name != *name);
                let own_name = file.name.filter(|name| FileName::new(name.as_str()).is_ok());
                let name = own_name.filter(is_free).unwrap_or_else(|| match named.len() {
                    0 => tool.to_owned(),
                    earlier => format!("{tool}-{}", earlier + 1),
                });
                let content = redaction.redact_bytes(file.content);
                named.push(ToolAnswerFile { name, media_type: file.media_type, content });
            }
            ToolAnswer::Done { text: redaction.redact_text(text), files: named }
        }
        Err(McpError { code, status, detail, .. }) => {
            let code = match code {
                McpErrorCode::Address => ToolProblemCode::Address,
                // The file's own headers are valid, so the value of a key is not.
                McpErrorCode::InvalidHeader => ToolProblemCode::KeyMissing,
                McpErrorCode::Unreachable => ToolProblemCode::Unreachable,
                McpErrorCode::TooSlow => ToolProblemCode::TooSlow,
                McpErrorCode::TooLarge => ToolProblemCode::TooLarge,
                McpErrorCode::Protocol => ToolProblemCode::Protocol,
                McpErrorCode::Redirect => ToolProblemCode::Redirect,
                McpErrorCode::Status => ToolProblemCode::Status,
                McpErrorCode::Rejected => ToolProblemCode::Reported,
                McpErrorCode::UnknownTool => ToolProblemCode::Gone,
                McpErrorCode::Unsupported => ToolProblemCode::Unsupported,
            };
            let detail = redaction.redact_text(detail);
            ToolAnswer::Failed(ToolProblem { code, status, detail })
        }
    }
}

#[cfg(test)]
mod tests {
    use djinn_mcp::McpFile;
    use djinn_runtime::port::secret::Secret;

    use super::*;

    const KEY: &str = "canary-key";

    fn answer(result: Result<McpResult, McpError>) -> ToolAnswer {
        let keys = [("k".to_owned(), Some(Secret::new(KEY)))];
        to_answer("notes__draw", result, &Redaction::new(&keys))
    }

    #[test]
    fn files_have_names_of_their_own() {
        let file = |name: Option<&str>| McpFile {
            name: name.map(str::to_owned),
            media_type: None,
            content: format!("x {KEY}").into_bytes(),
        };
        let files =
            [None, Some("a.bin"), Some("a.bin"), Some("../b"), Some("c.csv"), None].map(file);
        let text = format!("see {KEY}");
        let result = McpResult { text, files: files.to_vec(), is_error: false };
        let ToolAnswer::Done { text, files } = answer(Ok(result)) else { panic!() };
        assert_eq!(text, "see ***");
        let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        let tool = "notes__draw";
        let numbered = |number: u32| format!("{tool}-{number}");
        assert_eq!(names, [tool, "a.bin", &numbered(3), &numbered(4), "c.csv", &numbered(6)]);
        assert!(files.iter().all(|file| file.content == b"x ***"));
    }

    #[test]
    fn an_error_has_a_code_and_no_key() {
        let reported = McpResult { text: format!(" no {KEY}\n"), files: vec![], is_error: true };
        let ToolAnswer::Failed(problem) = answer(Ok(reported)) else { panic!() };
        assert_eq!((problem.code, &*problem.detail), (ToolProblemCode::Reported, "no ***"));
        for (code, expected) in [
            (McpErrorCode::Address, ToolProblemCode::Address),
            (McpErrorCode::InvalidHeader, ToolProblemCode::KeyMissing),
            (McpErrorCode::Unreachable, ToolProblemCode::Unreachable),
            (McpErrorCode::TooSlow, ToolProblemCode::TooSlow),
            (McpErrorCode::TooLarge, ToolProblemCode::TooLarge),
            (McpErrorCode::Protocol, ToolProblemCode::Protocol),
            (McpErrorCode::Redirect, ToolProblemCode::Redirect),
            (McpErrorCode::Status, ToolProblemCode::Status),
            (McpErrorCode::Rejected, ToolProblemCode::Reported),
            (McpErrorCode::UnknownTool, ToolProblemCode::Gone),
            (McpErrorCode::Unsupported, ToolProblemCode::Unsupported),
        ] {
            let may_be_done = expected.may_be_done();
            let detail = format!("echo {KEY}");
            let error = McpError { code, status: Some(401), detail, may_be_done };
            let ToolAnswer::Failed(problem) = answer(Err(error)) else { panic!() };
            let detail = "echo ***".to_owned();
            let status = Some(401);
            assert_eq!(problem, ToolProblem { code: expected, status, detail });
        }
    }
}
