//! The first use of Python on a laptop, where it is installed first.

use std::sync::Arc;

use djinn_local::Djinn;
use djinn_runtime::port::sandbox::{
    JobContext, JobEnd, JobOutput, JobWait, Sandbox, SandboxAnswer, SandboxError, SandboxJob,
};
use djinn_runtime::port::tool::BoxFuture;
use serde_json::json;

use super::completed;
use crate::agents::at;
use crate::world::{Frame, Protocol, Question, World, always_hands_over};

/// A sandbox that is installed when it is first used, which succeeds or fails for this reason.
struct Installing(Result<(), &'static str>);

impl Sandbox for Installing {
    fn max_bytes(&self) -> u64 {
        1024 * 1024
    }

    fn run_job<'a>(
        &'a self,
        context: &'a JobContext,
        _: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
        for done in [0, 30] {
            context.waits.report(JobWait::Installation { done, total: 30 });
        }
        Box::pin(async {
            self.0.map_err(|reason| SandboxError::Unready(reason.to_owned()))?;
            Ok(SandboxAnswer {
                end: JobEnd::Done,
                seconds: 0.1,
                output: JobOutput { head: "7\n".to_owned(), ..JobOutput::default() },
                value: json!({"text": "the contract", "next_offset": null, "total_chars": 12}),
                products: Vec::new(),
                left_out: Vec::new(),
                state: Vec::new(),
            })
        })
    }
}

/// Asks a model that reads a document, and has an agent run a block.
async fn ask(sandbox: Installing) -> (World, Vec<Frame>) {
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_AGENTS__OFFERED", "all".to_owned()));
        options.djinn = Djinn::new().with_sandbox(Arc::new(sandbox));
    })
    .await;
    world.upload("s1", "contract.docx", "PK\u{0}").await;
    at(&world.model, "")
        .call("file_tool", json!({"command": "get", "filename": "contract.docx"}))
        .then()
        .call("code_interpreter", json!({"task": "Print seven."}))
        .then()
        .reply("Done.");
    at(&world.model, "t2.c1").call("python", json!({"code": "print(7)"})).then().reply("Seven.");
    let frames = world.ask(Protocol::Native, &Question::of("Read it.", "s1")).await.rest().await;
    assert_eq!(frames.last().unwrap().json()["answer"], "Done.");
    (world, frames)
}

/// The progress of a call of the run at `path`, or of the first one.
fn progress_of(frames: &[Frame], path: Option<&str>, call: &str) -> String {
    let pieces = frames.iter().filter(|frame| frame.event() == "progress").map(Frame::json);
    let pieces = pieces.filter(|piece| piece["path"].as_str() == path && piece["call"] == call);
    pieces.map(|piece| piece["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn asker_sees_how_far_the_installation_is() {
    let (_world, frames) = ask(Installing(Ok(()))).await;
    let progress = "Installing Python and its packages (only once): 0 of 30.\n\
                    Installing Python and its packages (only once): 30 of 30.\n";
    // Progress is kept nowhere: after a hand-over, whoever follows may come too late for it.
    if !always_hands_over() {
        assert_eq!(progress_of(&frames, None, "t1.c1"), progress);
        assert_eq!(progress_of(&frames, Some("t2.c1"), "t1.c1"), progress);
    }
    let read = completed(&frames, "t1.c1.result")[0].json();
    assert!(read["result"]["text"].as_str().unwrap().contains("the contract"), "{read}");
}

#[tokio::test]
async fn failed_installation_is_told_with_its_reason_and_not_as_disabled() {
    let reason = "PyPI cannot be reached; the next attempt is possible in 5 s";
    let (_world, frames) = ask(Installing(Err(reason))).await;
    for call in ["t1.c1.result", "t2.c1.t1.c1.result"] {
        let result = completed(&frames, call)[0].json()["result"].to_string();
        assert!(result.contains(reason) && !result.contains("disabled"), "{call}: {result}");
    }
}

#[tokio::test]
async fn preview_without_rows_has_the_sentence_that_the_data_page_shows() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("tables")).unwrap();
    std::fs::write(folder.path().join("tables/a.csv"), "a,b\n1,2\n").unwrap();
    let table = "---\nname: a\nsource: a.csv\n---\n";
    std::fs::write(folder.path().join("tables/a.md"), table).unwrap();
    let config = folder.path().display().to_string();
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_CONFIG", config));
        options.djinn = Djinn::new().with_sandbox(Arc::new(Installing(Err("no network"))));
    })
    .await;
    let answer = world.get("/data/previewData?modelCode=a").await;
    let body = answer.json();
    let sentence = "The table cannot be read now. The log of the deployment has the reason.";
    // The page shows `msg` only of a response with status 200 and another code in its body.
    assert_eq!((answer.status, &body["code"], &body["msg"]), (200, &json!(503), &json!(sentence)));
    let data = &body["data"];
    assert_eq!((&data["success"], &data["errorMessage"]), (&json!(false), &json!(sentence)));
}
