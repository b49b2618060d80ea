//! Who may know whom by name: AWS is known to `shared/aws` alone, model providers to `shared/model`,
//! and a client protocol's words to its own files.

use super::source::{Source, sources};
use super::word::{Word, words};
use super::{none, one};

/// Words that only some sources may use.
struct Term {
    /// What they are, for people.
    what: &'static str,
    is: fn(&Word) -> bool,
    /// Where they may stand: the beginnings of paths.
    home: &'static [&'static str],
}

const TERMS: &[Term] = &[
    Term { what: "the AWS SDK", is: is_aws, home: &["shared/aws/"] },
    Term { what: "the genai crate", is: is_genai, home: &["shared/model/"] },
    Term {
        what: "a word of the JoyAgent protocol",
        is: is_joyagent,
        home: &["shared/protocol/src/joyagent", "shared/testkit/"],
    },
    Term {
        what: "a word of Chat Completions",
        is: |word| has_any(word, &["chat.completion"]),
        home: &[
            "shared/protocol/src/chat_completions",
            "shared/protocol/src/body/chat_completions.rs",
            "shared/model/",
            "shared/scripted/",
        ],
    },
    Term {
        what: "a word of the AI SDK",
        is: |word| has_any(word, &AI_SDK),
        home: &["shared/protocol/src/ai_sdk"],
    },
    Term {
        what: "a word of MCP",
        is: |word| has_any(word, &MCP),
        home: &["shared/protocol/src/mcp", "shared/mcp/"],
    },
    Term {
        what: "a word of the Responses API",
        is: |word| has_any(word, &RESPONSES_API),
        home: &[
            "shared/protocol/src/responses_api",
            "functions/agent/src/route/ask/responses_api.rs",
            "shared/model/",
        ],
    },
    Term { what: "a word of AG-UI", is: is_ag_ui, home: &["shared/protocol/src/ag_ui"] },
];

/// Words that no other protocol has.
const JOYAGENT: [&str; 12] = [
    "eventData",
    "eventType",
    "messageOrder",
    "messageTime",
    "messageType",
    "multiAgent",
    "packageType",
    "plan_thought",
    "responseAll",
    "resultMap",
    "taskOrder",
    "tool_thought",
];

const AI_SDK: [&str; 6] =
    ["reset-step", "source-url", "start-step", "tool-approval-", "tool-input-", "tool-output-"];

const MCP: [&str; 6] = [
    "isError",
    "mimeType",
    "notifications/",
    "progressToken",
    "resource_link",
    "structuredContent",
];

const RESPONSES_API: [&str; 5] = [
    "output_text",
    "response.content_part",
    "response.output_",
    "response.reasoning_",
    "url_citation",
];

/// The beginnings of AG-UI's events.
const AG_UI: [&str; 9] = [
    "ACTIVITY_",
    "MESSAGES_SNAPSHOT",
    "REASONING_",
    "RUN_ERROR",
    "RUN_FINISHED",
    "RUN_STARTED",
    "STATE_",
    "TEXT_MESSAGE_",
    "TOOL_CALL_",
];

#[test]
fn words_stay_at_home() {
    none(sources().iter().flat_map(strangers));
}

fn is_aws(word: &Word) -> bool {
    let starts =
        |name: &str| ["aws_config", "aws_sdk_", "aws_smithy_"].iter().any(|p| name.starts_with(p));
    matches!(word, Word::Name(name) if starts(name))
}

fn is_genai(word: &Word) -> bool {
    matches!(word, Word::Name(name) if name == "genai")
}

fn is_joyagent(word: &Word) -> bool {
    has_any(word, &JOYAGENT)
}

/// Returns true if a literal has any of these words.
fn has_any(word: &Word, words: &[&str]) -> bool {
    matches!(word, Word::Literal(text) if words.iter().any(|word| text.contains(word)))
}

fn is_ag_ui(word: &Word) -> bool {
    let begins =
        |text: &str| AG_UI.iter().any(|word| text.trim_start_matches('"').starts_with(word));
    matches!(word, Word::Literal(text) if begins(text))
}

fn strangers(source: &Source) -> Vec<String> {
    let path = &source.path;
    let away = |term: &&Term| !term.home.iter().any(|home| path.starts_with(home));
    let terms: Vec<_> = TERMS.iter().filter(away).collect();
    let mut complaints = Vec::new();
    for (word, line) in words(source) {
        for Term { what, home, .. } in terms.iter().filter(|term| (term.is)(&word)) {
            let (Word::Name(text) | Word::Literal(text)) = &word else { continue };
            let home = home.join(", ");
            complaints.push(format!("{path}:{line} names `{text}`, {what}: only {home} may"));
        }
    }
    complaints
}

#[test]
fn a_stranger_is_noticed() {
    let found = |path: &str, text: &str| strangers(&Source::parse(path, text));
    let aws = "use aws_sdk_s3::Client;";
    one(found("shared/tools/src/a.rs", aws), "`aws_sdk_s3`, the AWS SDK: only shared/aws/ may");
    none(found("shared/aws/src/a.rs", aws));
    one(found("shared/aws/src/a.rs", "type A = genai::Client;"), "the genai crate");
    let wire = "const A: &str = \"tool_thought\";";
    one(found("shared/core/src/entry.rs", wire), "a word of the JoyAgent protocol");
    none(found("shared/protocol/src/joyagent_ui.rs", wire));
    for (literal, home, what) in [
        ("tool-input-available", "ai_sdk/calls.rs", "the AI SDK"),
        ("chat.completion.chunk", "chat_completions.rs", "Chat Completions"),
        ("structuredContent", "mcp/outcome.rs", "MCP"),
        ("response.output_text.delta", "responses_api/item.rs", "the Responses API"),
    ] {
        let wire = format!("const A: &str = \"{literal}\";");
        let route = found("functions/agent/src/route/ask.rs", &wire);
        one(route, &format!("a word of {what}: only shared/protocol/src/"));
        none(found(&format!("shared/protocol/src/{home}"), &wire));
    }
    let event = "const A: &str = \"RUN_FINISHED\";";
    one(found("functions/agent/src/a.rs", event), "a word of AG-UI");
    none(found("shared/protocol/src/ag_ui/texts.rs", event));
    none(found("functions/agent/src/a.rs", "//! tool_thought, aws_sdk_s3\nfn genai_like() {}"));
}
