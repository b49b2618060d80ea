//! The public error codes: one vocabulary for HTTP answers and for how runs end.

mod consequence;
mod failure;

use serde::{Deserialize, Serialize};

use crate::language::Language;
pub use consequence::Consequence;
pub use failure::Failure;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal, $en:literal, $zh:literal;)*) => {
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

            /// The HTTP status of an answer that carries it before a stream has started.
            #[must_use]
            pub fn http_status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }

            /// What happened and what to do, for a user. `{}` stands where [`Failure::detail`] goes.
            #[must_use]
            pub fn sentence(self, language: Language) -> &'static str {
                match (self, language) {
                    $((Self::$name, Language::En) => $en, (Self::$name, Language::Zh) => $zh,)*
                }
            }
        }
    };
}

codes! {
    // Bad requests.
    /// The body is not JSON.
    InvalidJson = "invalid_json", 400,
        "The body is not valid JSON: {}.", "请求体不是合法的 JSON：{}。";
    /// A member is missing or has the wrong type.
    InvalidField = "invalid_field", 400,
        "{}.", "{}。";
    /// The request has no question.
    QueryMissing = "query_missing", 400,
        "The question is missing or empty; send it as `{}`.", "缺少问题；请用 `{}` 字段发送。";
    /// A question over 64 KB.
    QueryTooLong = "query_too_long", 400,
        "The question is longer than {} bytes; put long material into a file.",
        "问题超过 {} 字节；请把长内容放进文件。";
    /// A text over the bound of its member.
    TooLong = "too_long", 400,
        "A text is too long: {}. Shorten it, or put long material into a file.",
        "文本过长：{}。请缩短，或把长内容放进文件。";
    /// An agent type or mode that does not exist.
    UnknownAgent = "unknown_agent", 400,
        "There is no such agent; {}.", "没有这种智能体；{}。";
    /// An output style that does not exist.
    UnknownStyle = "unknown_style", 400,
        "There is no such output style; there are html, docs, table and ppt.",
        "没有这种输出样式；可用 html、docs、table、ppt。";
    /// An id that is not a label.
    BadId = "bad_id", 400,
        "{}.", "{}。";
    /// A file name with a path, control characters or over 255 bytes.
    BadFileName = "bad_file_name", 400,
        "{}.", "{}。";
    /// A cursor that is none, of another run, or ahead of it.
    BadCursor = "bad_cursor", 400,
        "The cursor (Last-Event-ID) does not belong to this run; {}.",
        "游标（Last-Event-ID）不属于该运行；{}。";
    /// No key and no token.
    CredentialsMissing = "credentials_missing", 401,
        "Say who you are: {}.", "请说明您的身份：{}。";
    /// A key or a token that is not, or no longer, good for anything here.
    CredentialsRefused = "credentials_refused", 401,
        "This key or token is not accepted: {}.", "该密钥或令牌未被接受：{}。";
    /// A page of an origin that a laptop's system does not answer.
    OriginRefused = "origin_refused", 403,
        "Pages of {} may not use this system. If they are yours, name their origin in DJINN_LOCAL_ORIGINS.",
        "{} 的页面不能使用本系统。如果是您自己的页面，请在 DJINN_LOCAL_ORIGINS 中写明其来源。";
    /// A laptop's system under a name that may lead anywhere.
    HostRefused = "host_refused", 403,
        "This system does not answer as {}. Use 127.0.0.1 or localhost, or name that origin in DJINN_LOCAL_ORIGINS.",
        "本系统不以 {} 的名义应答。请使用 127.0.0.1 或 localhost，或在 DJINN_LOCAL_ORIGINS 中写明该来源。";
    /// No such run, or another tenant's.
    RunNotFound = "run_not_found", 404,
        "There is no such run.", "没有这个运行。";
    /// No such session in the caller's list.
    SessionNotFound = "session_not_found", 404,
        "There is no such session.", "没有这个会话。";
    /// No such share of the session.
    ShareNotFound = "share_not_found", 404,
        "There is no such share of this session; it may have been ended.",
        "该会话没有这个共享；它可能已被终止。";
    /// No such file, or another tenant's.
    FileNotFound = "file_not_found", 404,
        "There is no such file in this session.", "该会话中没有这个文件。";
    /// The path names no route.
    RouteNotFound = "route_not_found", 404,
        "There is no such route.", "没有这个地址。";
    /// The route exists, with another method.
    MethodNotAllowed = "method_not_allowed", 405,
        "This route does not take that method.", "该地址不支持此方法。";
    /// A session that is shared with the caller, but not for writing.
    SessionReadOnly = "session_read_only", 403,
        "This session is shared with you for reading only; ask its owner to share it for writing.",
        "该会话仅以只读方式与您共享；请联系其所有者开放写入。";
    /// What nobody but a session's owner may do.
    OwnerOnly = "owner_only", 403,
        "Only the owner of this session can rename, share or delete it.",
        "只有该会话的所有者才能重命名、共享或删除它。";
    /// What nobody but who asked may do with a run.
    AskerOnly = "asker_only", 403,
        "Only who asked can do that with this run.", "只有提问者才能对该运行执行此操作。";
    /// The share under which somebody asked in another's session has ended.
    ShareEnded = "share_ended", 403,
        "The session of this run is not shared with you any more; ask its owner to share it again.",
        "该运行所在的会话已不再与您共享；请联系其所有者重新共享。";
    /// A session has as many shares as one may have.
    TooManyShares = "too_many_shares", 409,
        "This session has {} shares, the most at a time; end one first.",
        "该会话已有 {} 个共享，达到上限；请先终止其中一个。";
    /// The same request id came with another body.
    RequestIdReused = "request_id_reused", 409,
        "This request id was used with another question; use a new one.",
        "这个 requestId 已用于另一个问题；请换一个新的。";
    /// The session's earlier question is still being answered.
    SessionBusy = "session_busy", 409,
        "This session is still answering an earlier question ({}). Send `continue` to follow it, or stop it first.",
        "该会话仍在回答之前的问题（{}）。发送“继续”可跟进，或先停止它。";
    /// A `continue` where no run is at work and every end was shown.
    NothingToContinue = "nothing_to_continue", 409,
        "There is nothing to go on with: every answer of this session was sent. Ask your next question.",
        "没有可继续的内容：本会话的回答均已送达。请直接提出下一个问题。";
    /// Nothing of that name was asked in the run.
    FeedbackNotFound = "feedback_not_found", 404,
        "Nothing of that name was asked in this run; it waits for: {}.",
        "该运行没有提出这个问题；正在等待答复的有：{}。";
    /// What was asked has been answered, or its run has ended.
    FeedbackAnswered = "feedback_answered", 409,
        "This was decided before: {}. Your answer changed nothing.",
        "此事已有决定：{}。您的答复没有改变任何内容。";
    /// The answer is about other arguments than those that are waiting.
    FeedbackStale = "feedback_stale", 409,
        "What you were shown has changed; look at it again and answer anew.",
        "您看到的内容已经变化；请重新查看后再答复。";
    /// No link of this deployment, or to something that is not there.
    LinkNotFound = "link_not_found", 404,
        "This link leads nowhere. Look whether it was copied as a whole, or ask for a new one.",
        "此链接无效。请检查是否完整复制，或索取新的链接。";
    /// A link whose time is over.
    LinkExpired = "link_expired", 410,
        "This link has expired. Ask for a new one where you got it.",
        "此链接已过期。请向提供者索取新的链接。";
    /// What a link is about is not asked any more, and nobody answered it.
    FeedbackOver = "feedback_over", 409,
        "This is not asked any more: the work went on or ended without an answer. Nothing was changed.",
        "此事已无需答复：任务已在无人答复的情况下继续或结束。没有任何改变。";
    /// The run has no further turn.
    RunEnded = "run_ended", 409,
        "The run is {}: it has no further turn to read this. Ask the next question in its session.",
        "该运行已{}，没有后续步骤可以读取此内容。请在其会话中提出下一个问题。";
    /// The run has no plan that could be changed.
    NoPlan = "no_plan", 409,
        "This run has no plan that can be changed now.", "该运行目前没有可修改的计划。";
    /// The plan is another by now.
    PlanChanged = "plan_changed", 409,
        "The plan has changed since you read it; here it is as it is now.",
        "计划在您读取之后已经变化；现附上最新计划。";
    /// The run's journal has been deleted.
    RunExpired = "run_expired", 410,
        "This run's journal has expired.", "该运行的记录已过期。";
    /// The user's runs of this minute are started.
    RateLimited = "rate_limited", 429,
        "You have started as many questions as one minute allows; nothing was started. Ask again in {} seconds.",
        "本分钟内可提的问题数已达上限，未启动任何任务。请在 {} 秒后重试。";
    /// The user's places are taken.
    TooManyRuns = "too_many_runs", 429,
        "{} of your questions are being worked on, the most at a time; nothing was started. Wait until one is answered, or stop one.",
        "您已有 {} 个问题正在处理，达到同时处理的上限，未启动任何任务。请等待其中一个完成，或先停止一个。";
    /// As many uploads of a session are on their way as may be.
    TooManyUploads = "too_many_uploads", 429,
        "{} files of this session were announced and have not been uploaded, the most at a time; nothing was announced. Upload one of them, or wait until the URL of one has expired.",
        "该会话已有 {} 个文件申请上传但尚未上传，达到上限，本次未申请。请先上传其中一个，或等待其上传地址过期。";
    /// This process streams all that it may.
    TooManyStreams = "too_many_streams", 429,
        "All {} streams of this server are in use; nothing was started. Ask again in some seconds.",
        "该服务器的 {} 个流均在使用中，未启动任何任务。请稍后重试。";
    /// The user's streams are all in use.
    TooManyUserStreams = "too_many_user_streams", 429,
        "{} responses are being streamed to you, the most at a time; nothing was started. Close one, or wait until one has ended.",
        "您已有 {} 个流正在输出，达到同时输出的上限，未启动任何任务。请关闭其中一个，或等待其结束。";
    /// A body over 4 MB.
    BodyTooLarge = "body_too_large", 413,
        "The body is larger than {} bytes; upload large files with /v1/file_tool/upload_url.",
        "请求体超过 {} 字节；大文件请用 /v1/file_tool/upload_url 上传。";
    /// What is to be stored is larger than the store takes.
    TooLarge = "too_large", 413,
        "This is larger than what can be stored in one piece, which is {}. Nothing was changed; send or ask for less at a time.",
        "内容超过单项可保存的上限（{}），未做任何更改。请减少内容后重试。";
    /// A body of another kind than the route reads.
    UnsupportedBody = "unsupported_body", 415,
        "{}.", "{}。";

    /// The question or an answer holds what the deployment does not let through.
    ContentRefused = "content_refused", 422,
        "This deployment does not let through what was asked or what would have been answered. Ask in another way.",
        "本部署不允许该问题或其回答的内容。请换一种方式提问。";

    // Ours to mend.
    /// Questions about data, which JoyAgent's UI asks unless it is told otherwise.
    DataUnavailable = "data_unavailable", 501,
        "Data questions cannot be answered here yet. Choose another product, or switch deep thinking on.",
        "暂不支持数据问答。请选择其他产品，或开启深度思考。";
    /// The checker that decides about content gave no verdict, and nothing passes without one.
    ContentUnchecked = "content_unchecked", 503,
        "The content could not be checked, and nothing passes here unchecked: {}. Ask again later.",
        "内容未能通过检查程序核验，未核验的内容不予放行：{}。请稍后再试。";
    /// Neither a verified caller nor `DJINN_LOCAL`.
    NoIdentity = "no_identity", 503,
        "Nobody can be identified: put this function behind AWS_IAM, choose keys or tokens with DJINN_AUTH, or set DJINN_LOCAL=1 on a laptop.",
        "无法识别调用者：请把函数放在 AWS_IAM 之后，用 DJINN_AUTH 选择密钥或令牌，或在本机设置 DJINN_LOCAL=1。";
    /// What keys or tokens are checked against cannot be read.
    IdentityUnavailable = "identity_unavailable", 503,
        "Who you are cannot be checked right now: {}. Nothing was done; try again.",
        "暂时无法核实您的身份：{}。未执行任何操作，请重试。";
    /// The table or the bucket could not be reached, after retries.
    StoreUnavailable = "store_unavailable", 503,
        "The store cannot be reached right now; nothing was lost. Try again with the same request id.",
        "存储暂时不可用，没有内容丢失。请用相同的 requestId 重试。";
    /// The failure is a bug of Djinn's own.
    Internal = "internal", 500,
        "Something went wrong inside Djinn; nothing that was written is lost. Ask again, and report it if it happens twice.",
        "Djinn 内部出错，已写入的内容不会丢失。请重新提问；若再次发生请报告。";

    // How runs end badly.
    /// No model is configured for the role.
    NoModel = "no_model", 503,
        "No model is configured. Set OPENAI_API_KEY, ANTHROPIC_API_KEY or DJINN_MODELS; {}.",
        "没有配置模型。请设置 OPENAI_API_KEY、ANTHROPIC_API_KEY 或 DJINN_MODELS；{}。";
    /// The key cannot be read.
    ModelKeyMissing = "model_key_missing", 503,
        "The API key of this model cannot be read: {}. Check the model's `key` and who may read it.",
        "无法读取该模型的 API 密钥：{}。请检查模型的 `key` 及其读取权限。";
    /// The provider refused the key.
    ModelKeyRefused = "model_key_refused", 502,
        "The model provider refused the API key: {}. Check the key of this model.",
        "模型服务商拒绝了 API 密钥：{}。请检查该模型的密钥。";
    /// The account with the provider has nothing left.
    ModelNoBalance = "model_no_balance", 502,
        "The account with the model provider is used up: {}. Top it up, then go on.",
        "模型服务商账户余额不足：{}。请充值后继续。";
    /// The provider does not know the model.
    ModelUnknown = "model_unknown", 502,
        "The model provider does not know this model: {}. Check its name and base_url.",
        "模型服务商不认识该模型：{}。请检查模型名和 base_url。";
    /// The conversation does not fit, also after shortening it.
    ContextTooLong = "context_too_long", 502,
        "The conversation does not fit into the model's input limit: {}. Ask with less material, or raise max_input_tokens.",
        "对话超出模型输入上限：{}。请减少材料，或调高 max_input_tokens。";
    /// Could not be reached, or broke off, after retries.
    ModelUnreachable = "model_unreachable", 502,
        "The model could not be reached or broke off, also after retries: {}. Ask again later.",
        "多次重试后仍无法连接模型或回复中断：{}。请稍后再试。";
    /// Rate limited or overloaded, after retries.
    ModelOverloaded = "model_overloaded", 502,
        "The model provider is overloaded or limits this key's rate, also after retries: {}. Ask again later.",
        "多次重试后模型服务商仍过载或限流：{}。请稍后再试。";
    /// The provider refused the request.
    ModelRefused = "model_refused", 502,
        "The model provider refused the request: {}", "模型服务商拒绝了请求：{}";
    /// What came back cannot be read, after retries.
    ModelUnreadable = "model_unreadable", 502,
        "The model's reply could not be read, also after retries: {}. Check base_url and provider.",
        "多次重试后仍无法读取模型回复：{}。请检查 base_url 和 provider。";
    /// The model said nothing where the answer was due.
    EmptyAnswer = "empty_answer", 502,
        "The model gave no answer: its last replies held no text. What was written is kept; ask again, or choose another model.",
        "模型没有给出回答：最后的回复没有任何文字。已写入的内容会保留；请重新提问，或换一个模型。";
    /// The step budget is used up.
    StepsUsedUp = "steps_used_up", 500,
        "The step budget of {} is used up. What was found so far is above; ask a follow-up question to go on.",
        "步数预算（{}）已用完。以上是目前的结果；可继续追问。";
    /// The budget of tool calls is used up.
    ToolCallsUsedUp = "tool_calls_used_up", 500,
        "The budget of {} tool calls is used up. What was found so far is above; ask a follow-up question to go on.",
        "工具调用次数预算（{}）已用完。以上是目前的结果；可继续追问。";
    /// The same call brought the same result again and again.
    RepeatedCalls = "repeated_calls", 500,
        "The same call of {} brought the same result again and again, so the work was ended. What was found so far is above; ask in another way to go on.",
        "反复以相同参数调用 {} 且结果相同，处理已结束。以上是目前的结果；可换一种方式追问。";
    /// The token budget is used up.
    TokensUsedUp = "tokens_used_up", 500,
        "The token budget of {} is used up. What was found so far is above; ask a follow-up question to go on.",
        "令牌预算（{}）已用完。以上是目前的结果；可继续追问。";
    /// The money budget is used up.
    MoneyUsedUp = "money_used_up", 500,
        "The budget of {} US dollars is used up. What was found so far is above; ask a follow-up question to go on.",
        "费用预算（{} 美元）已用完。以上是目前的结果；可继续追问。";
    /// What a user's runs may use up in a day is used up.
    BudgetUsedUp = "budget_used_up", 429,
        "What your questions may use up in a day is used up: {}. Nothing is lost: say `continue` tomorrow (UTC), or once the budget is raised.",
        "您今天的用量预算已用完：{}。没有内容丢失：请明天（UTC）或在提高预算后回复“继续”。";
    /// The rounds of a plan are used up.
    RoundsUsedUp = "rounds_used_up", 500,
        "The plan was worked on in {} rounds without coming to an end. What was found so far is above; ask a follow-up question to go on.",
        "计划已执行 {} 轮仍未结束。以上是目前的结果；可继续追问。";
    /// The wall-time budget is used up.
    TimeUsedUp = "time_used_up", 500,
        "The time budget of {} seconds is used up. What was written is kept; ask a follow-up question to go on.",
        "时间预算（{} 秒）已用完。已写入的内容会保留；可继续追问。";
    /// Handed over more often than the cap.
    HopLimit = "hop_limit", 500,
        "The run was handed over {} times, the most that is allowed. Ask a follow-up question to go on.",
        "该运行已移交 {} 次，达到上限。可继续追问。";
    /// Its driver died three times at the same point.
    Crashed = "crashed", 500,
        "The run took its process down three times at the same point and was given up. Ask again, perhaps with less material.",
        "该运行在同一处三次使进程崩溃，已放弃。请减少材料后重试。";
    /// A tool or a model stopped in the middle, and a person decided not to go on.
    Interrupted = "interrupted", 500,
        "The work was interrupted and not taken up again: {}",
        "工作被中断且未继续：{}";
    /// The run was stopped by somebody.
    Stopped = "stopped", 500,
        "Stopped. What was written until then is kept; ask the next question whenever you like.",
        "已停止。此前写入的内容会保留；可随时继续提问。";
}

impl ErrorCode {
    /// Whether the same request may succeed later, unchanged.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::IdentityUnavailable
                | Self::StoreUnavailable
                | Self::SessionBusy
                | Self::RateLimited
                | Self::TooManyRuns
                | Self::TooManyUploads
                | Self::TooManyStreams
                | Self::TooManyUserStreams
                | Self::ModelUnreachable
                | Self::ModelOverloaded
                | Self::ModelUnreadable
                | Self::ContentUnchecked
                | Self::Internal
        )
    }

    /// Whether something was held back for what it says, or for want of a verdict on it.
    #[must_use]
    pub fn is_about_content(self) -> bool {
        matches!(self, Self::ContentRefused | Self::ContentUnchecked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn both_languages_say_the_detail_equally_often() {
        for code in ErrorCode::ALL {
            let holes = |language| code.sentence(language).matches("{}").count();
            assert_eq!(holes(Language::En), holes(Language::Zh), "{}", code.as_str());
            assert!(holes(Language::En) <= 1, "{}", code.as_str());
        }
    }
}
