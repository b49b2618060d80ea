use djinn_runtime::port::model::ModelErrorKind::*;
use reqwest::header::HeaderValue;
use serde_json::json;

use super::*;

fn http(status: u16, body: &str) -> (ModelErrorKind, String) {
    from("api.example", status, body)
}

fn from(host: &str, status: u16, body: &str) -> (ModelErrorKind, String) {
    let fault = ModelFault::from_http(status, &HeaderMap::new(), body, host);
    (fault.kind, fault.message)
}

/// Every status and phrase that is known, by who says it.
#[test]
fn answers_are_classified() {
    let openai = |message: &str, kind: &str, code: &str| {
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
            .to_string()
    };
    let plain = |message: &str| json!({"error": {"message": message}}).to_string();
    for (status, body, kind) in [
        // Keys.
        (401, openai("Incorrect API key provided", "invalid_request_error", "invalid_api_key"), KeyRefused),
        (403, "{\"message\":\"not authorized to perform: bedrock:InvokeModel\"}".to_owned(), KeyRefused),
        (400, "[{\"error\":{\"code\":400,\"message\":\"API key not valid. Please pass a valid API key.\",\"status\":\"INVALID_ARGUMENT\"}}]".to_owned(), KeyRefused),
        // Models.
        (404, openai("The model `gpt-9` does not exist", "invalid_request_error", "model_not_found"), UnknownModel),
        (404, String::new(), UnknownModel),
        (400, plain("Model Not Exist"), UnknownModel),
        (404, json!({"error": "model 'llama9' not found"}).to_string(), UnknownModel),
        // Too long.
        (400, openai("This model's maximum context length is 128000 tokens.", "invalid_request_error", "context_length_exceeded"), ContextTooLong),
        (400, json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}}).to_string(), ContextTooLong),
        (400, json!({"type": "error", "error": {"type": "invalid_request_error", "message": "input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000"}}).to_string(), ContextTooLong),
        (413, json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}).to_string(), ContextTooLong),
        (400, json!({"message": "Input is too long for requested model."}).to_string(), ContextTooLong),
        (400, json!({"error": {"code": 400, "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}).to_string(), ContextTooLong),
        (400, plain("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"), ContextTooLong),
        (400, plain("This model's maximum context length is 65536 tokens. However, you requested 66343 tokens"), ContextTooLong),
        (400, json!({"error": {"code": "1261", "message": "Prompt 超长"}}).to_string(), ContextTooLong),
        (400, plain("Invalid request: Your request exceeded model token limit: 262144"), ContextTooLong),
        (400, json!({"error": {"code": "InvalidParameter", "message": "Input length 203743 exceeds the maximum length 202752"}}).to_string(), ContextTooLong),
        (400, plain("the request exceeds the available context size, try increasing it"), ContextTooLong),
        (400, json!({"error": "prompt too long; exceeded max context length by 4 tokens"}).to_string(), ContextTooLong),
        (422, json!({"detail": [{"loc": ["body"], "msg": "context length exceeded", "input": "SECRET PROMPT"}]}).to_string(), ContextTooLong),
        (500, plain("the input length exceeds the context length"), ContextTooLong),
        // Busy.
        (429, openai("Rate limit reached", "requests", "rate_limit_exceeded"), Overloaded),
        (429, json!({"message": "Too many tokens, please wait before trying again."}).to_string(), Overloaded),
        (408, String::new(), Overloaded),
        (409, String::new(), Overloaded),
        (425, String::new(), Overloaded),
        (500, String::new(), Overloaded),
        (502, "<html>Bad gateway</html>".to_owned(), Overloaded),
        (503, "upstream connect error".to_owned(), Overloaded),
        (424, json!({"message": "The model has encountered an unexpected error during processing.", "originalStatusCode": 500}).to_string(), Overloaded),
        (498, openai("This is a custom, flex tier only status code", "capacity_exceeded", "capacity_exceeded"), Overloaded),
        (420, plain("Too many requests"), Overloaded),
        (529, json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}).to_string(), Overloaded),
        (599, String::new(), Overloaded),
        // Refused.
        (402, plain("Insufficient Balance"), NoBalance),
        (429, openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota"), NoBalance),
        (400, plain("Your credit balance is too low to access the Anthropic API."), NoBalance),
        (403, json!({"error": {"code": "AccountOverdueError", "message": "The request failed because your account has an overdue balance. Request id: 021", "param": "", "type": "Forbidden"}}).to_string(), NoBalance),
        (403, json!({"error": {"code": "OperationDenied.ServiceOverdue", "message": "Operation is denied because your account balance is overdue", "type": "Forbidden"}}).to_string(), NoBalance),
        (403, json!({"code": 30001, "message": "Sorry, your account balance is insufficient", "data": null}).to_string(), NoBalance),
        (403, json!({"code": 30001, "message": "", "data": null}).to_string(), NoBalance),
        (429, json!({"error": {"code": "1113", "message": "您的账户已欠费，请充值后重试。"}}).to_string(), NoBalance),
        (429, json!({"type": "error", "error": {"type": "rate_limit_error", "code": "1113", "message": "[1113][Insufficient balance or no resource package. Please recharge.]"}}).to_string(), NoBalance),
        (429, json!({"error": {"code": "1113", "message": "x"}}).to_string(), NoBalance),
        (400, openai("Access denied, please make sure your account is in good standing.", "Arrearage", "Arrearage"), NoBalance),
        (403, openai("用户额度不足", "new_api_error", "insufficient_user_quota"), NoBalance),
        (500, plain("upstream: 账户余额不足"), NoBalance),
        (400, json!({"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}).to_string(), NoBalance),
        (400, json!({"type": "error", "error": {"type": "invalid_request_error", "message": "You have reached your specified API usage limits. You will regain access on 2026-04-01 at 00:00 UTC."}}).to_string(), NoBalance),
        (429, json!({"code": "Some resource has been exhausted", "error": "Your team 16f2151a has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit."}).to_string(), NoBalance),
        (403, json!({"code": "The caller does not have permission to execute the specified operation", "error": "Your team 16f2151a has either used all available credits or reached its monthly spending limit."}).to_string(), NoBalance),
        (400, openai("Billing hard limit has been reached", "invalid_request_error", "billing_hard_limit_reached"), NoBalance),
        (403, openai("The free tier of the model has been exhausted.", "AllocationQuota.FreeTierOnly", "AllocationQuota.FreeTierOnly"), NoBalance),
        (402, openai("Insufficient Balance", "unknown_error", "invalid_request_error"), NoBalance),
        (429, plain("litellm: {'error': {'message': 'You exceeded', 'code': 'insufficient_quota'}}"), NoBalance),
        // What a model wrote and what a tool is called say nothing of an account.
        (500, json!({"error": {"code": 500, "message": "Failed to parse input at pos 395: Your account is overdue, 账户已欠费, overdue balance", "type": "server_error"}}).to_string(), Overloaded),
        (400, openai("Invalid schema for function 'list_overdue_invoices': None is not of type 'object'.", "invalid_request_error", "invalid_function_parameters"), Refused),
        (400, openai("Your payment method tool: account is overdue, insufficient balance", "invalid_request_error", "x"), Refused),
        (400, json!({"error": {"code": 400, "message": "The account tool reports an overdue balance", "status": "INVALID_ARGUMENT"}}).to_string(), Refused),
        (400, plain("tools.0: 'account is overdue' isn't a name; see \"overdue balance\" and `insufficient balance`"), Refused),
        (400, plain("unknown function get_overdue_account, create_payment, billing_details"), Refused),
        (503, plain("the queue is overdue, and your account waits. It's payment time"), Overloaded),
        // A number in a sentence is no code, and a rate that could be raised is no empty account.
        (429, json!({"error": {"code": "1302", "message": "您的账户已达到速率限制 (1113 of 30001)"}}).to_string(), Overloaded),
        (429, openai("Rate limit reached for requests. Please add a payment method: https://platform.openai.com/account/billing", "requests", "rate_limit_exceeded"), Overloaded),
        (403, json!({"error": {"code": 403, "message": "Your chosen model requires moderation and your input was flagged"}}).to_string(), Refused),
        (403, json!({"code": 403, "message": "Forbidden"}).to_string(), KeyRefused),
        (400, plain("Unsupported value: 'temperature'"), Refused),
        (422, json!({"detail": "nonsense"}).to_string(), Refused),
        (405, String::new(), Refused),
        (418, String::new(), Refused),
        (301, String::new(), Refused),
    ] {
        assert_eq!(http(status, &body).0, kind, "{status} {body}");
    }
    for status in 300..=1000 {
        let _ = http(status, "");
    }
}

#[test]
fn a_quota_of_qwens_is_a_rate_and_a_debt_is_one() {
    let quota = json!({"error": {
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "type": "insufficient_quota",
        "code": "insufficient_quota",
    }});
    let debt = json!({"error": {"message": "Access denied.", "code": "Arrearage"}}).to_string();
    for host in ["dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"] {
        assert_eq!(from(host, 429, &quota.to_string()).0, Overloaded, "{host}");
        assert_eq!((from(host, 400, &debt).0, from(host, 429, &debt).0), (NoBalance, NoBalance));
    }
    assert_eq!(http(429, &quota.to_string()).0, NoBalance);
    let mut passed_on = quota;
    passed_on["error"]["message"] =
        "You exceeded your current quota. For details, see: https://help.aliyun.com/x".into();
    assert_eq!(http(429, &passed_on.to_string()).0, Overloaded);
}

#[test]
fn errors_in_a_stream_are_classified() {
    for (error, kind) in [
        (json!({"type": "overloaded_error", "message": "Overloaded"}), Overloaded),
        (json!({"type": "rate_limit_error"}), Overloaded),
        (json!({"code": 429, "message": "slow down"}), Overloaded),
        (json!({"code": "503", "message": "x"}), Overloaded),
        (json!({"message": "Bedrock is unable to process your request."}), Overloaded),
        (json!({"__type": "ThrottlingException", "message": "x"}), Overloaded),
        (json!({"type": "authentication_error", "message": "invalid x-api-key"}), KeyRefused),
        (json!({"code": 401, "message": "x"}), KeyRefused),
        (json!({"code": "model_not_found", "message": "x"}), UnknownModel),
        (json!({"code": "context_length_exceeded"}), ContextTooLong),
        (json!({"code": 400, "message": "prompt is too long"}), ContextTooLong),
        (json!({"code": "insufficient_quota"}), NoBalance),
        (json!({"code": "AccountOverdueError", "message": "x"}), NoBalance),
        (json!({"code": 30001, "message": "x"}), NoBalance),
        (json!({"code": "1113", "message": "x"}), NoBalance),
        (
            json!({"code": 500, "message": "Failed to parse input at pos 3: your account is overdue", "type": "server_error"}),
            Overloaded,
        ),
        (json!({"message": "Failed to parse input at pos 3: insufficient balance"}), BrokenOff),
        (json!({"message": "your account is overdue"}), NoBalance),
        (json!({"type": "invalid_request_error", "message": "bad"}), Refused),
        (json!({"code": "data_inspection_failed", "message": "x"}), Refused),
        (json!({"message": "odd"}), BrokenOff),
        (json!("odd"), BrokenOff),
        (json!({}), BrokenOff),
        (json!(null), BrokenOff),
    ] {
        assert_eq!(ModelFault::from_stream(&error).kind, kind, "{error}");
    }
}

#[test]
fn the_providers_words_follow_the_status() {
    for (status, body, message) in [
        (401, r#"{"error":{"message":"no"}}"#, "HTTP 401: no"),
        (404, r#"{"error":"model not found"}"#, "HTTP 404: model not found"),
        (400, r#"{"error":{"message":"","code":"x"}}"#, "HTTP 400"),
        (400, r#"{"message":"no"}"#, "HTTP 400: no"),
        (
            422,
            r#"{"detail":[{"loc":["a"],"msg":"one","input":"THE PROMPT"},{"msg":"two"}]}"#,
            "HTTP 422: one; two",
        ),
        (400, r#"{"base_resp":{"status_msg":"x"},"error_msg":"no"}"#, "HTTP 400: no"),
        (400, r#"[{"error":{"message":"no"}}]"#, "HTTP 400: no"),
        (502, "<html>secret</html>", "HTTP 502"),
        (503, "upstream connect error", "HTTP 503: upstream connect error"),
        (500, "", "HTTP 500"),
    ] {
        assert_eq!(http(status, body).1, message, "{body}");
    }
}

#[test]
fn a_wait_that_is_asked_for_is_kept() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static("7"));
    let fault = ModelFault::from_http(429, &headers, "", "api.example");
    let error = fault.into_error(&Mask::default(), Usage::default());
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(error.detail, "HTTP 429");
}

mod words {
    use djinn_core::effect::ToolChoice;
    use djinn_core::language::Language;
    use djinn_core::settings::{ModelChoice, Role};
    use djinn_runtime::port::model::{Message, ModelRequest};
    use djinn_runtime::port::secret::Secret;

    use super::*;

    const INSTRUCTED: &str = "You are a wizard. Never reveal that the password is swordfish.";
    const SAID: &str = "Sorry, HTTP 401: your account has an overdue balance.";
    const ASKED: &str = "我想知道今天北京的天气怎么样以及明天会不会下雨好吗";
    const READ: &str = "The bill of Anna Ruiz comes to 4,000 euros.";

    fn shown(message: &str) -> String {
        let request = ModelRequest {
            role: Role::React,
            choice: ModelChoice::Primary,
            call: String::new(),
            language: Language::En,
            system: INSTRUCTED.to_owned(),
            messages: vec![
                Message::User(format!("The question: {ASKED}")),
                Message::Assistant { text: SAID.to_owned(), reasoning: None, calls: Vec::new() },
            ],
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            external_texts: [ASKED, READ].map(ToOwned::to_owned).to_vec(),
        };
        let key = Secret::new("my-private-key");
        Mask::new(Some(&key), &request).sanitize_message(message)
    }

    #[test]
    fn keys_are_masked() {
        for (given, expected) in [
            ("the key my-private-key is bad", "the key *** is bad"),
            (
                "Incorrect API key provided: sk-proj-abc***wxyz.",
                "Incorrect API key provided: sk-***.",
            ),
            ("Bearer sk-ant-api03-AbCdEf_123-456", "Bearer sk-***"),
            ("key=AIzaSyA1234567890 gsk_0123456789", "key=AIza*** gsk_***"),
            ("sk-short and task-oriented", "sk-short and task-oriented"),
        ] {
            assert_eq!(shown(given), expected);
        }
    }

    #[test]
    fn quotes_of_users_and_tools_are_left_out_and_our_own_words_stay() {
        for (given, expected) in [
            ("内容违规：我想知道今天北京的天气怎么样以及明天会不会下雨好吗", "内容违规：…"),
            ("Invalid input: 'bill of Anna Ruiz comes to 4,000'", "Invalid input: '…'"),
            ("the bill is wrong", "the bill is wrong"),
            (SAID, SAID),
            (INSTRUCTED, INSTRUCTED),
        ] {
            assert_eq!(shown(given), expected);
        }
    }

    #[test]
    fn control_characters_go_and_three_hundred_characters_stay() {
        assert_eq!(shown("a\r\n\tb\u{1b}[31m\u{0}c"), "a b [31m c");
        let long = shown(&"界".repeat(1_000));
        assert_eq!(long.chars().count(), 300);
        assert!(long.ends_with("…[cut]"));
    }
}

#[test]
fn requests_that_are_too_long_are_known_by_the_words_of_each_provider() {
    let cases = include_str!("../../../tests/corpora/context-refusals.json");
    let cases: std::collections::BTreeMap<String, (u16, serde_json::Value)> =
        serde_json::from_str(cases).unwrap();
    assert_eq!(cases.len(), 19);
    for (name, (status, body)) in cases {
        let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
        assert_eq!(http(status, &body).0, ContextTooLong, "{name}: {body}");
    }
}
