//! `dirt.toml`: what arrives, and what becomes of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use djinn_core::input::{FinishReason, Reply};
use djinn_core::tool::{ToolArguments, canonical_json};
use djinn_model::Models;
use djinn_runtime::port::model::ModelError;
use djinn_runtime::port::secret::NoSecrets;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde::Deserialize;
use serde_json::Value;

use crate::server::{End, Script, Server};
use crate::world::{ask, model, models, request, struct_parse};

#[derive(Debug, Deserialize)]
struct Table {
    row: Vec<Row>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    provider: String,
    #[serde(default)]
    struct_parse: bool,

    // What arrives: one of these.
    /// The data of server-sent events.
    #[serde(default)]
    frames: Vec<String>,
    /// The lines of a body, each sent with a line break behind it.
    #[serde(default)]
    lines: Vec<String>,
    /// The text of the whole body, sent as it is.
    #[serde(default)]
    raw: String,
    /// Whether the connection breaks behind them.
    #[serde(default)]
    cut: bool,

    // What becomes of it.
    #[serde(default)]
    text: String,
    #[serde(default)]
    reasoning: String,
    signature: Option<String>,
    /// `tool {arguments}`, or `tool! Problem`.
    #[serde(default)]
    calls: Vec<String>,
    #[serde(default)]
    finish: String,
    /// Input, output and cached tokens.
    usage: Option<[u64; 3]>,
    /// The kind of the error.
    error: Option<String>,
    /// Words in its detail.
    #[serde(default)]
    detail: String,
}

impl Row {
    fn body(&self) -> Vec<u8> {
        let mut body = self.raw.clone();
        for frame in &self.frames {
            let kind = serde_json::from_str::<Value>(frame).ok();
            let kind = kind.and_then(|value| Some(value.get("type")?.as_str()?.to_owned()));
            if let Some(kind) = kind {
                body.push_str(&format!("event: {kind}\n"));
            }
            body.push_str(&format!("data: {frame}\n\n"));
        }
        for line in &self.lines {
            body.push_str(&format!("{line}\n"));
        }
        body.into_bytes()
    }

    fn end(&self) -> End {
        if self.cut { End::Cut } else { End::Clean }
    }

    fn expected(&self) -> String {
        match &self.error {
            Some(error) => format!("error {error}"),
            None => format!(
                "text {:?}\nreasoning {:?}\ncalls {:?}\nfinish {}",
                self.text,
                self.reasoning,
                self.calls,
                if self.finish.is_empty() { "done" } else { &self.finish },
            ),
        }
    }
}

fn table() -> Vec<Row> {
    let table: Table = toml::from_str(include_str!("../dirt.toml")).unwrap();
    table.row
}

pub(crate) fn shown(outcome: &Result<Reply, ModelError>) -> String {
    match outcome {
        Err(error) => format!("error {:?}", error.kind),
        Ok(reply) => format!(
            "text {:?}\nreasoning {:?}\ncalls {:?}\nfinish {}",
            reply.text,
            reply.reasoning.as_ref().map_or("", |reasoning| &reasoning.text),
            calls(reply),
            match reply.finish {
                FinishReason::Done => "done",
                FinishReason::Length => "length",
                FinishReason::Filtered => "filtered",
            }
        ),
    }
}

fn calls(reply: &Reply) -> Vec<String> {
    let calls = reply.calls.iter();
    calls
        .map(|call| match &call.arguments {
            ToolArguments::Parsed(object) => {
                format!("{} {}", call.tool, canonical_json(&Value::Object(object.clone())))
            }
            ToolArguments::Malformed { problem, .. } => format!("{}! {problem:?}", call.tool),
        })
        .collect()
}

/// The models of every provider in the table, asking one server.
struct Bench {
    server: Server,
    models: BTreeMap<(String, bool), Models<NoSecrets>>,
}

impl Bench {
    async fn start(rows: &[Row]) -> Self {
        let (server, address) = Server::start().await;
        let models = rows
            .iter()
            .map(|row| {
                let key = (row.provider.clone(), row.struct_parse);
                (key, models(settings(row, address)))
            })
            .collect();
        Self { server, models }
    }

    async fn play(&self, row: &Row, chunks: Vec<Vec<u8>>, end: End) -> Result<Reply, ModelError> {
        let script = Script { end, ..Script::ok(chunks) };
        self.server.on("run/t1/1", script);
        let models = &self.models[&(row.provider.clone(), row.struct_parse)];
        ask(models, &request("run/t1/1")).await
    }
}

fn settings(row: &Row, address: SocketAddr) -> djinn_model::ModelSettings {
    let settings = model(&row.provider, address);
    if row.struct_parse { struct_parse(settings) } else { settings }
}

#[tokio::test]
async fn every_row_becomes_what_it_says() {
    let rows = table();
    assert!(rows.len() >= 40, "{} rows", rows.len());
    let bench = Bench::start(&rows).await;
    let mut wrong = Vec::new();
    for row in &rows {
        let outcome = bench.play(row, vec![row.body()], row.end()).await;
        let mut got = shown(&outcome);
        match &outcome {
            Ok(reply) => {
                let usage = reply.usage;
                let usage = [usage.input_tokens, usage.output_tokens, usage.cached_tokens];
                if row.usage.is_some_and(|expected| expected != usage) {
                    got.push_str(&format!("\nusage {usage:?}"));
                }
                let signature = reply.reasoning.as_ref().and_then(|r| r.signature.clone());
                if row.signature.is_some() && row.signature != signature {
                    got.push_str(&format!("\nsignature {signature:?}"));
                }
            }
            Err(error) if !error.detail.contains(&row.detail) => {
                got.push_str(&format!("\ndetail {}", error.detail));
            }
            Err(_) => {}
        }
        if got != row.expected() {
            wrong.push(format!("## {}\n{}\n-- but got\n{got}\n", row.name, row.expected()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn names_are_unique() {
    let mut names: Vec<_> = table().into_iter().map(|row| row.name).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[tokio::test]
async fn the_same_bytes_in_other_chunks_are_the_same_reply() {
    let rows = table();
    let bench = Bench::start(&rows).await;
    for (number, row) in rows.iter().enumerate() {
        let body = row.body();
        let bytes = body.iter().map(|byte| vec![*byte]).collect();
        let outcome = bench.play(row, bytes, row.end()).await;
        assert_eq!(shown(&outcome), row.expected(), "{} byte by byte", row.name);
        // Single bytes are cut at every place; a quarter of the places, others in each row, is cut in two.
        for at in (1 + number % 4..body.len()).step_by(4) {
            let (head, tail) = body.split_at(at);
            let chunks = vec![head.to_vec(), tail.to_vec()];
            let outcome = bench.play(row, chunks, row.end()).await;
            assert_eq!(shown(&outcome), row.expected(), "{} cut at {at}", row.name);
        }
    }
}

/// What tells that a reply is whole, as far as these bytes go.
fn says_an_end(bytes: &[u8]) -> bool {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    text.retain(|c| !c.is_whitespace());
    let words =
        ["[DONE]", "message_stop", "\"done\":true", "response.completed", "response.incomplete"];
    let reasons = ["\"finish_reason\":\"", "\"stop_reason\":\"", "\"finishReason\":\""];
    words.iter().any(|word| text.contains(word))
        || reasons.iter().any(|reason| {
            let mut given = text.split(reason).skip(1);
            given.any(|rest| !rest.starts_with('"') && !rest.starts_with("null\""))
        })
}

#[tokio::test]
async fn no_call_comes_of_a_stream_that_was_cut_anywhere() {
    let rows: Vec<Row> = table().into_iter().filter(|row| !row.calls.is_empty()).collect();
    let bench = Bench::start(&rows).await;
    for row in &rows {
        let body = row.body();
        for at in 0..body.len() {
            let head = &body[..at];
            let end = if at % 2 == 0 { End::Cut } else { End::Clean };
            let outcome = bench.play(row, vec![head.to_vec()], end).await;
            if !says_an_end(head) {
                let error = outcome.expect_err(&format!("{} cut at {at}", row.name));
                assert!(error.kind.is_retryable(), "{} cut at {at}: {error}", row.name);
            }
        }
    }
}

#[test]
fn no_mutation_of_a_row_panics_or_hangs_or_makes_a_call_of_what_has_no_end() {
    let rows = table();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bench = runtime.block_on(Bench::start(&rows));
    let mutation = (any::<proptest::sample::Index>(), 0..5u8, any::<u8>());
    let cases = (
        0..rows.len(),
        proptest::collection::vec(mutation, 0..6),
        proptest::collection::vec(any::<proptest::sample::Index>(), 0..5),
        any::<bool>(),
    );
    let mut runner =
        TestRunner::new(Config { cases: 600, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&cases, |(row, mutations, cuts, is_cut)| {
        let row = &rows[row];
        let mut body = row.body();
        for (at, kind, byte) in mutations.into_iter().filter(|_| !row.body().is_empty()) {
            mutate(&mut body, at, kind, byte);
        }
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        at.extend([0, body.len()]);
        at.sort_unstable();
        let chunks = at.windows(2).map(|pair| body[pair[0]..pair[1]].to_vec()).collect();
        let end = if is_cut { End::Cut } else { End::Clean };
        let outcome = runtime.block_on(bench.play(row, chunks, end));
        if let Ok(reply) = outcome
            && !reply.calls.is_empty()
        {
            prop_assert!(says_an_end(&body), "{}: {:?}", row.name, reply.calls);
        }
        Ok(())
    });
    outcome.unwrap();
}

fn mutate(body: &mut Vec<u8>, at: proptest::sample::Index, kind: u8, byte: u8) {
    if body.is_empty() {
        return;
    }
    let at = at.index(body.len());
    match kind {
        0 => body[at] = byte,
        1 => body.truncate(at),
        2 => body.insert(at, byte),
        3 => {
            body.remove(at);
        }
        _ => {
            let half = body[at..].to_vec();
            body.extend(half);
        }
    }
}
