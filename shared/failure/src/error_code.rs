//! The public error codes: one vocabulary for how requests are refused and for how runs end.

mod failure;

use serde::{Deserialize, Serialize};

pub use failure::Failure;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// What went wrong, in one word that a client may branch on.
        ///
        /// Stored in journals: a code is never renamed and never given another meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum ErrorCode {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl ErrorCode {
            /// Every code, for tables and tests.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The code as clients see it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

codes! {
    // Bad requests.
    /// The body is not JSON.
    InvalidJson = "invalid_json";
    /// A member is missing or has the wrong type.
    InvalidField = "invalid_field";
    /// The request has no question.
    QueryMissing = "query_missing";
    /// A question over 64 KB.
    QueryTooLong = "query_too_long";
    /// A text over the bound of its member.
    TooLong = "too_long";
    /// An agent type or mode that does not exist.
    UnknownAgent = "unknown_agent";
    /// An output style that does not exist.
    UnknownStyle = "unknown_style";
    /// An id that is not a label.
    BadId = "bad_id";
    /// A file name with a path, control characters or over 255 bytes.
    BadFileName = "bad_file_name";
    /// A cursor that is none, of another run, or ahead of it.
    BadCursor = "bad_cursor";
    /// No key and no token.
    CredentialsMissing = "credentials_missing";
    /// A key or a token that is not, or no longer, good for anything here.
    CredentialsRefused = "credentials_refused";
    /// A page of an origin that a laptop's system does not answer.
    OriginRefused = "origin_refused";
    /// A laptop's system under a name that may lead anywhere.
    HostRefused = "host_refused";
    /// No such run, or another tenant's.
    RunNotFound = "run_not_found";
    /// No such session in the caller's list.
    SessionNotFound = "session_not_found";
    /// No such share of the session.
    ShareNotFound = "share_not_found";
    /// No such file, or another tenant's.
    FileNotFound = "file_not_found";
    /// The path names no route.
    RouteNotFound = "route_not_found";
    /// The route exists, with another method.
    MethodNotAllowed = "method_not_allowed";
    /// A session that is shared with the caller, but not for writing.
    SessionReadOnly = "session_read_only";
    /// What nobody but a session's owner may do.
    OwnerOnly = "owner_only";
    /// What nobody but who asked may do with a run.
    AskerOnly = "asker_only";
    /// The share under which somebody asked in another's session has ended.
    ShareEnded = "share_ended";
    /// A session has as many shares as one may have.
    TooManyShares = "too_many_shares";
    /// The same request id came with another body.
    RequestIdReused = "request_id_reused";
    /// The session's earlier question is still being answered.
    SessionBusy = "session_busy";
    /// A `continue` where no run is at work and every end was shown.
    NothingToContinue = "nothing_to_continue";
    /// Nothing of that name was asked in the run.
    FeedbackNotFound = "feedback_not_found";
    /// What was asked has been answered, or its run has ended.
    FeedbackAnswered = "feedback_answered";
    /// The answer is about other arguments than those that are waiting.
    FeedbackStale = "feedback_stale";
    /// No link of this deployment, or to something that is not there.
    LinkNotFound = "link_not_found";
    /// A link whose time is over.
    LinkExpired = "link_expired";
    /// What a link is about is not asked any more, and nobody answered it.
    FeedbackOver = "feedback_over";
    /// The run has no further turn.
    RunEnded = "run_ended";
    /// The run has no plan that could be changed.
    NoPlan = "no_plan";
    /// The plan is another by now.
    PlanChanged = "plan_changed";
    /// The run's journal has been deleted.
    RunExpired = "run_expired";
    /// The user's runs of this minute are started.
    RateLimited = "rate_limited";
    /// The user's places are taken.
    TooManyRuns = "too_many_runs";
    /// As many uploads of a session are on their way as may be.
    TooManyUploads = "too_many_uploads";
    /// This process streams all that it may.
    TooManyStreams = "too_many_streams";
    /// The user's streams are all in use.
    TooManyUserStreams = "too_many_user_streams";
    /// A body over 4 MB.
    BodyTooLarge = "body_too_large";
    /// What is to be stored is larger than the store takes.
    TooLarge = "too_large";
    /// A body of another kind than the route reads.
    UnsupportedBody = "unsupported_body";

    /// The question or an answer holds what the deployment does not let through.
    ContentRefused = "content_refused";

    // Ours to mend.
    /// Questions about data, which JoyAgent's UI asks unless it is told otherwise.
    DataUnavailable = "data_unavailable";
    /// The checker that decides about content gave no verdict, and nothing passes without one.
    ContentUnchecked = "content_unchecked";
    /// Neither a verified caller nor `DJINN_LOCAL`.
    NoIdentity = "no_identity";
    /// What keys or tokens are checked against cannot be read.
    IdentityUnavailable = "identity_unavailable";
    /// The table or the bucket could not be reached, after retries.
    StoreUnavailable = "store_unavailable";
    /// What is stored of a run, a session or a file cannot be read, today and tomorrow.
    StoredDataUnreadable = "stored_data_unreadable";
    /// The failure is a bug of Djinn's own.
    Internal = "internal";

    // How runs end badly.
    /// No model is configured for the role.
    NoModel = "no_model";
    /// The key cannot be read.
    ModelKeyMissing = "model_key_missing";
    /// The provider refused the key.
    ModelKeyRefused = "model_key_refused";
    /// The account with the provider has nothing left.
    ModelNoBalance = "model_no_balance";
    /// The provider does not know the model.
    ModelUnknown = "model_unknown";
    /// The conversation does not fit, also after shortening it.
    ContextTooLong = "context_too_long";
    /// Could not be reached, or broke off, after retries.
    ModelUnreachable = "model_unreachable";
    /// Rate limited or overloaded, after retries.
    ModelOverloaded = "model_overloaded";
    /// The provider refused the request.
    ModelRefused = "model_refused";
    /// What came back cannot be read, after retries.
    ModelUnreadable = "model_unreadable";
    /// An agent's answer has not the form that its file names.
    BadAnswer = "bad_answer";
    /// The model said nothing where the answer was due.
    EmptyAnswer = "empty_answer";
    /// The step budget is used up.
    StepsUsedUp = "steps_used_up";
    /// The budget of tool calls is used up.
    ToolCallsUsedUp = "tool_calls_used_up";
    /// The same call brought the same result again and again.
    RepeatedCalls = "repeated_calls";
    /// The model writes tool calls into its text, in a form that cannot be read.
    CallsWrittenAsText = "calls_written_as_text";
    /// The token budget is used up.
    TokensUsedUp = "tokens_used_up";
    /// The money budget is used up.
    MoneyUsedUp = "money_used_up";
    /// What a user's runs may use up in a day is used up.
    BudgetUsedUp = "budget_used_up";
    /// The rounds of a plan are used up.
    RoundsUsedUp = "rounds_used_up";
    /// The wall-time budget is used up.
    TimeUsedUp = "time_used_up";
    /// Handed over more often than the cap.
    HopLimit = "hop_limit";
    /// Its driver died or stood still three times at the same point.
    Crashed = "crashed";
    /// A tool or a model stopped in the middle, and a person decided not to go on.
    Interrupted = "interrupted";
    /// The run was stopped by somebody.
    Stopped = "stopped";
}

impl ErrorCode {
    /// Whether something was held back for what it says, or for want of a verdict on it.
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
