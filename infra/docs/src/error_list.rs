//! `errors.md`: every error code with cause, remedy and effects.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use djinn_core::error_code::ErrorCode;
use djinn_core::language::Language;
use djinn_messages::find_error_template;
use djinn_protocol::refusal::{Consequence, http_status, is_retryable};
use schemars::schema_for;
use serde_json::Value;

const HEAD: &str = "\
# Error codes

This page is written by `cargo xtask docs` from the code.

A rejected request returns its HTTP status and a JSON object:

```json
{\"code\": \"too_long\", \"message\": \"A text exceeds its limit: …\", \"field\": \"question\",
 \"detail\": \"…\", \"retryable\": false, \"retry_after\": null, \"run\": null}
```

A run that fails reports the code and its detail as `failure` in `run.ended`.
`GET /runs/{run}` also returns the message, as `failure.message`.
Branch on `code`; `message` is a text for users, in the deployment's language.
`field` names the invalid field of the request.
`retry_after` is the value of the `Retry-After` header, in seconds.
`run` is the run that blocks the request.

**HTTP** is the status of the response; codes in events have none.
**Retry** states whether the same request can succeed later, unchanged.
**Then** states the effect of the request:

- *nothing*: the request changed nothing.
- *perhaps*: the request may have taken effect.
  Send it again with the same request id: it takes effect once.
- *ended*: the run has ended; its texts and results are kept.
- *waits*: the run pauses and requests a response (`model_interrupt`) before it continues.
  `interrupt.code` of that request is this code.
";

pub(crate) fn write_error_list() -> Result<String> {
    let meanings = read_meanings()?;
    let mut text = HEAD.to_owned();
    let mut group = None;
    for code in ErrorCode::ALL {
        let title = group_title(*code);
        if group != Some(title) {
            group = Some(title);
            write!(text, "\n## {title}\n\n| Code | HTTP | When | Message | Retry | Then |\n")?;
            writeln!(text, "|---|---|---|---|---|---|")?;
        }
        let name = code.as_str();
        let meaning = meanings.get(name).with_context(|| format!("{name} has no sentence"))?;
        ensure!(meaning.split_whitespace().count() >= 4, "{name} has no sentence");
        let retry = if is_retryable(*code) { "yes" } else { "no" };
        let template = find_error_template(name, Language::En)
            .with_context(|| format!("{name} has no sentence for people"))?
            .replace("{detail}", "…");
        let status = http_status(*code);
        let then = consequence_word(Consequence::of(*code));
        writeln!(text, "| `{name}` | {status} | {meaning} | {template} | {retry} | {then} |")?;
    }
    Ok(text)
}

/// Returns the doc comment of each error code.
fn read_meanings() -> Result<BTreeMap<String, String>> {
    let schema = Value::from(schema_for!(ErrorCode));
    let variants =
        schema.get("oneOf").and_then(Value::as_array).context("codes have no variants")?;
    let pair = |variant: &Value| {
        let text = |name| variant.get(name).and_then(Value::as_str);
        let name = text("const")?;
        let meaning = text("description")?;
        Some((name.to_owned(), meaning.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    Ok(variants.iter().filter_map(pair).collect())
}

fn group_title(code: ErrorCode) -> &'static str {
    match (Consequence::of(code), http_status(code)) {
        (Consequence::RunEnded | Consequence::RunWaits, _) => "Failed runs",
        (Consequence::Nothing | Consequence::Unknown, 500..) => "Errors of the deployment",
        (Consequence::Nothing | Consequence::Unknown, _) => "Rejected requests",
    }
}

fn consequence_word(consequence: Consequence) -> &'static str {
    match consequence {
        Consequence::Nothing => "nothing",
        Consequence::Unknown => "perhaps",
        Consequence::RunEnded => "ended",
        Consequence::RunWaits => "waits",
    }
}
