//! The corpus of streams, and changes of it: none breaks the reader, and the same text is the same reply in whatever
//! pieces it comes.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use djinn_model::Models;
use djinn_runtime::port::secret::NoSecrets;
use djinn_testkit::fuzz::{FuzzInput, FuzzPlan};
use tokio::runtime::{Builder, Runtime};

use crate::dirt::shown;
use crate::server::{Script, Server};
use crate::world::{ask, model, models, request, struct_parse};

/// What streams are made of.
const WORDS: &[&str] = &[
    "data: ",
    "data:",
    "event: ",
    "id: 1\n",
    "retry: 5\n",
    ": ping\n\n",
    "\n\n",
    "\r\n\r\n",
    "\r",
    "\r\n",
    "\u{feff}",
    "[DONE]",
    "{",
    "}",
    "[",
    "]",
    "null",
    "\"",
    "\\u0000",
    "\\ud83d",
    "1e999",
    "-1",
    "true",
    "choices",
    "delta",
    "content",
    "tool_calls",
    "function",
    "arguments",
    "name",
    "index",
    "finish_reason",
    "stop",
    "length",
    "usage",
    "prompt_tokens",
    "error",
    "message",
    "content_block_start",
    "content_block_delta",
    "message_stop",
    "input_json_delta",
    "thinking",
    "done",
    "<think>",
    "</think>",
    "Function Call",
    "```json",
];

/// What may stand behind a provider's name in the name of an input: calls are written in its text.
const STRUCT: &str = "+struct";

/// The models of each kind of input, and the server that they ask.
struct FuzzBench {
    runtime: Runtime,
    server: Server,
    address: SocketAddr,
}

impl FuzzBench {
    fn start() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (server, address) = runtime.block_on(Server::start());
        Self { runtime, server, address }
    }

    fn models_for(&self, kind: &str) -> Models<NoSecrets> {
        let provider = kind.trim_end_matches(STRUCT);
        let settings = model(provider, self.address);
        models(if provider == kind { settings } else { struct_parse(settings) })
    }

    fn play(&self, models: &Models<NoSecrets>, pieces: Vec<Vec<u8>>) -> String {
        self.server.on("run/t1/1", Script::ok(pieces));
        let outcome = self.runtime.block_on(ask(models, &request("run/t1/1")));
        let usage = outcome.as_ref().ok().map(|reply| {
            let usage = &reply.usage;
            [usage.input_tokens, usage.output_tokens, usage.cached_tokens]
        });
        format!("{}\nusage {usage:?}", shown(&outcome))
    }
}

/// The bytes in pieces of chance: the same ones for the same bytes.
fn cut_bytes(bytes: &[u8]) -> Vec<Vec<u8>> {
    let seed =
        bytes.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let mut rng = fastrand::Rng::with_seed(seed);
    let most = 1 << rng.usize(..8);
    let (mut rest, mut pieces) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rng.usize(1..=most).min(rest.len()));
        pieces.push(piece.to_vec());
        rest = after;
    }
    pieces
}

#[test]
fn no_stream_breaks_the_reader_and_its_pieces_do_not_matter() {
    let bench = FuzzBench::start();
    let kinds = std::cell::RefCell::new(BTreeMap::new());
    let plan = FuzzPlan { corpus: "sse", words: WORDS, max_bytes: 16_384, cases: 1_500 };
    let tried = plan.run(|FuzzInput { name, bytes }| {
        let kind = name.split('-').next().unwrap().to_owned();
        let mut kinds = kinds.borrow_mut();
        let models = kinds.entry(kind.clone()).or_insert_with(|| bench.models_for(&kind));
        let whole = bench.play(models, vec![bytes.clone()]);
        let cut = bench.play(models, cut_bytes(bytes));
        // genai gives up a stream at the piece with bytes that are no text, and with it what stands before them there.
        let is_text = std::str::from_utf8(bytes).is_ok();
        if whole == cut || !is_text {
            Ok(())
        } else {
            Err(format!("{kind}: whole\n{whole}\nin pieces\n{cut}"))
        }
    });
    println!("{}", tried.unwrap());
}
