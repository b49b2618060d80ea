//! The public error codes: one vocabulary for rejected requests and failed runs.

mod failure;

use serde::{Deserialize, Serialize};

pub use failure::Failure;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// The kind of an error, as one word for clients to branch on. Stored in journals: a code is never
        /// renamed and never changes meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum ErrorCode {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl ErrorCode {
            /// All codes, for tables and tests.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the code's word for clients.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

codes! {
    // Rejected requests.
    /// The body is not JSON.
    InvalidJson = "invalid_json";
    /// A field is missing or has the wrong type.
    InvalidField = "invalid_field";
    /// The request has no question.
    QueryMissing = "query_missing";
    /// The question is longer than 64 KB.
    QueryTooLong = "query_too_long";
    /// A text is longer than the field's limit.
    TooLong = "too_long";
    /// The agent type or mode does not exist.
    UnknownAgent = "unknown_agent";
    /// The output style does not exist.
    UnknownStyle = "unknown_style";
    /// The id is not a valid label.
    BadId = "bad_id";
    /// The file name has a path, control characters or more than 255 bytes.
    BadFileName = "bad_file_name";
    /// The cursor is invalid, from another run, or ahead of the run.
    BadCursor = "bad_cursor";
    /// The request has no API key and no token.
    CredentialsMissing = "credentials_missing";
    /// The API key or token is invalid here, or no longer valid.
    CredentialsRefused = "credentials_refused";
    /// A local deployment does not accept pages of this origin.
    OriginRefused = "origin_refused";
    /// A local deployment does not accept requests under this host name.
    HostRefused = "host_refused";
    /// The run does not exist or belongs to another tenant.
    RunNotFound = "run_not_found";
    /// The caller has no session with this name.
    SessionNotFound = "session_not_found";
    /// The session has no share with this handle.
    ShareNotFound = "share_not_found";
    /// The file does not exist or belongs to another tenant.
    FileNotFound = "file_not_found";
    /// The caller has no table of this name.
    TableNotFound = "table_not_found";
    /// The path matches no route.
    RouteNotFound = "route_not_found";
    /// The route does not support the request's method.
    MethodNotAllowed = "method_not_allowed";
    /// The session is shared with the caller for reading only.
    SessionReadOnly = "session_read_only";
    /// Only the session's owner may do this.
    OwnerOnly = "owner_only";
    /// Only the user who asked the run's question may do this.
    AskerOnly = "asker_only";
    /// The share that a guest asked the question under has ended.
    ShareEnded = "share_ended";
    /// No tool asks for a key of this name, and the caller has no such key.
    KeyNotFound = "key_not_found";
    /// The user has the maximum number of keys.
    TooManyKeys = "too_many_keys";
    /// The session has the maximum number of shares.
    TooManyShares = "too_many_shares";
    /// The request id was already used with another body.
    RequestIdReused = "request_id_reused";
    /// An earlier question of the session is still being answered.
    SessionBusy = "session_busy";
    /// A `continue` in a session without a run at work or an undelivered end.
    NothingToContinue = "nothing_to_continue";
    /// The run has no human request with this name.
    RequestNotFound = "request_not_found";
    /// The human request already has a response, or the run has ended.
    RequestResolved = "request_resolved";
    /// The response is for other arguments than the pending ones.
    RequestStale = "request_stale";
    /// The link is not from this deployment, or the target does not exist.
    LinkNotFound = "link_not_found";
    /// The link has expired.
    LinkExpired = "link_expired";
    /// The human request of the link is over without a response.
    RequestClosed = "request_closed";
    /// The run has no further turn.
    RunEnded = "run_ended";
    /// The run has no plan that could be changed.
    NoPlan = "no_plan";
    /// The plan has changed since the given version.
    PlanChanged = "plan_changed";
    /// The run's journal has been deleted.
    RunExpired = "run_expired";
    /// The user has started the maximum number of runs in this minute.
    RateLimited = "rate_limited";
    /// The user has the maximum number of runs at work.
    TooManyRuns = "too_many_runs";
    /// The session has the maximum number of announced uploads.
    TooManyUploads = "too_many_uploads";
    /// The process has the maximum number of streams.
    TooManyStreams = "too_many_streams";
    /// The user has the maximum number of streams.
    TooManyUserStreams = "too_many_user_streams";
    /// The body is larger than 4 MB.
    BodyTooLarge = "body_too_large";
    /// The data is larger than the store accepts.
    TooLarge = "too_large";
    /// The body has another content type than the route accepts.
    UnsupportedBody = "unsupported_body";

    /// The question or an answer contains content that the deployment does not allow.
    ContentRefused = "content_refused";

    // Errors of the deployment.
    /// The content checker returned no verdict, and the deployment blocks unchecked content.
    ContentUnchecked = "content_unchecked";
    /// The request has no verified caller, and `DJINN_LOCAL` is not set.
    NoIdentity = "no_identity";
    /// The data for checking API keys or tokens cannot be read.
    IdentityUnavailable = "identity_unavailable";
    /// The gateway that seals keys is missing or unreachable.
    KeysUnavailable = "keys_unavailable";
    /// The table or the bucket was unreachable, after retries.
    StoreUnavailable = "store_unavailable";
    /// The stored data of a run, a session or a file is permanently unreadable.
    StoredDataUnreadable = "stored_data_unreadable";
    /// A record of the run's journal is missing, or not as it was written.
    JournalAltered = "journal_altered";
    /// An internal error: a bug in Djinn.
    Internal = "internal";

    // Failed runs.
    /// No model is configured for the role.
    NoModel = "no_model";
    /// The model's API key cannot be read.
    ModelKeyMissing = "model_key_missing";
    /// The provider rejected the API key.
    ModelKeyRefused = "model_key_refused";
    /// The provider account has no balance left.
    ModelNoBalance = "model_no_balance";
    /// The provider does not know the model.
    ModelUnknown = "model_unknown";
    /// The conversation does not fit into the model's context, even after shortening.
    ContextTooLong = "context_too_long";
    /// The model was unreachable or broke off, after retries.
    ModelUnreachable = "model_unreachable";
    /// The model was rate limited or overloaded, after retries.
    ModelOverloaded = "model_overloaded";
    /// The provider rejected the request.
    ModelRefused = "model_refused";
    /// The model's response was unreadable, after retries.
    ModelUnreadable = "model_unreadable";
    /// An agent's answer does not have the format that the agent's file requires.
    BadAnswer = "bad_answer";
    /// The model returned no text where the answer was due.
    EmptyAnswer = "empty_answer";
    /// The step budget is used up.
    StepsUsedUp = "steps_used_up";
    /// The budget of tool calls is used up.
    ToolCallsUsedUp = "tool_calls_used_up";
    /// The same tool call returned the same result repeatedly.
    RepeatedCalls = "repeated_calls";
    /// The model writes tool calls into its text, in an unreadable form.
    CallsWrittenAsText = "calls_written_as_text";
    /// The token budget is used up.
    TokensUsedUp = "tokens_used_up";
    /// The money budget is used up.
    MoneyUsedUp = "money_used_up";
    /// The user's daily budget is used up.
    BudgetUsedUp = "budget_used_up";
    /// A parameter of the workflow has no value.
    ParameterMissing = "parameter_missing";
    /// The value for a workflow's `for_each` is no list, or is too long.
    BadList = "bad_list";
    /// The agent of a workflow's step does not exist, or does not accept the step's arguments.
    AgentUnusable = "agent_unusable";
    /// A step of the workflow failed, and its file ends the run then.
    StepFailed = "step_failed";
    /// The plan's limit of rounds is used up.
    RoundsUsedUp = "rounds_used_up";
    /// The wall-time budget is used up.
    TimeUsedUp = "time_used_up";
    /// The run had more handoffs than the limit.
    HopLimit = "hop_limit";
    /// The run's driver died or stood still three times at the same point.
    Crashed = "crashed";
    /// A tool or a model was interrupted, and a user decided not to continue.
    Interrupted = "interrupted";
    /// A user or client stopped the run.
    Stopped = "stopped";
}

impl ErrorCode {
    /// Returns true if the checker or the deny list blocked a text, or the checker gave no verdict.
    #[must_use]
    pub fn is_about_content(self) -> bool {
        matches!(self, Self::ContentRefused | Self::ContentUnchecked)
    }
}

#[cfg(test)]
mod tests {
    use djinn_messages::{find_error_template, keys};

    use super::*;
    use djinn_messages::language::Language;

    #[test]
    fn every_code_is_unique_and_round_trips() {
        for code in ErrorCode::ALL {
            let json = serde_json::to_string(code).unwrap();
            assert_eq!(json, format!("\"{}\"", code.as_str()));
            assert_eq!(serde_json::from_str::<ErrorCode>(&json).unwrap(), *code);
            assert_eq!(ErrorCode::ALL.iter().filter(|c| c.as_str() == code.as_str()).count(), 1);
        }
    }

    #[test]
    fn every_code_has_its_sentence_in_both_languages_and_no_sentence_is_without_a_code() {
        for language in [Language::En, Language::Zh] {
            for code in ErrorCode::ALL {
                let sentence = find_error_template(code.as_str(), language);
                assert!(sentence.is_some(), "{} in {language:?}", code.as_str());
            }
            let sentences = keys(language).filter(|(section, _)| *section == "error");
            assert_eq!(sentences.count(), ErrorCode::ALL.len());
        }
    }
}
