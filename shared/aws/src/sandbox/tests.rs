use djinn_core::file::ProductFile;
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_runtime::port::sandbox::wire::{EnvelopeContent, JobEnvelope, StoreHost};
use djinn_runtime::port::sandbox::{JobEnd, SandboxWork};
use serde_json::json;

use super::*;
use crate::clients::tests::{clients_over, replay_of};
use crate::item::sample;
use crate::replay::{Replay, response};
use crate::settings::{Endpoints, Settings};

const ANSWER: &str = r#"{"answer": {
    "v": 1, "end": "done", "seconds": 0.1, "output": {"head": "1\n", "omitted": 0, "tail": ""},
    "value": {}, "products": [{"name": "a.txt", "content": "S9RJ1OECAA=="}], "left_out": []
}}"#;

fn sandbox_over(settings: Settings, http: &Replay) -> LambdaSandbox {
    let code = Some("sandbox".to_owned());
    let documents = Some("documents".to_owned());
    let store = AwsStore::new(clients_over(settings, http.clone()));
    LambdaSandbox::new(SandboxFunctions { code, documents }, store)
}

fn look(content: &[u8]) -> SandboxJob {
    let name = FileName::new("a.csv").unwrap();
    let work = SandboxWork::Look { names: vec![name.clone()], language: Language::En };
    let content = content.to_vec();
    SandboxJob { work, files: vec![SandboxFile { name, content }], state: Vec::new() }
}

fn stored_file(name: &str, object: &str, size: u64) -> ProductFile {
    serde_json::from_value(json!({
        "name": name, "description": "", "size": size, "internal": false, "media_type": "text/csv",
        "object": object, "version": "v",
    }))
    .unwrap()
}

#[tokio::test]
async fn a_job_is_a_synchronous_invocation_in_the_tenants_own_environment() {
    let http = replay_of(&[(200, ANSWER)]);
    let sandbox = sandbox_over(Settings::new("t", "b"), &http);
    let context = JobContext::new(&sample::session());
    let answer = sandbox.run_job(&context, look(b"a,b\n1,2\n")).await.unwrap();
    assert_eq!((answer.end, answer.output.head.as_str()), (JobEnd::Done, "1\n"));
    assert_eq!(answer.products[0].content, b"a,a,\n".as_slice());
    let request = http.take_requests().remove(0);
    assert!(request.uri().ends_with("/functions/sandbox/invocations"), "{}", request.uri());
    assert_eq!(request.headers().get("x-amz-tenant-id"), Some("t"));
    assert_eq!(request.headers().get("x-amz-invocation-type"), None);
    let sent: JobEnvelope = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
    let EnvelopeContent::Packed(packed) = &sent.files[0].content else { panic!("{sent:?}") };
    assert_eq!(packed.unpack(100).unwrap(), b"a,b\n1,2\n");
    assert_eq!((sent.store, sent.put_answer), (None, None));
}

#[tokio::test]
async fn each_kind_of_jobs_has_a_function_or_a_reason() {
    let http = replay_of(&[(200, ANSWER)]);
    let context = JobContext::new(&sample::session());
    let name = FileName::new("a.csv").unwrap();
    let extract = || SandboxJob {
        work: SandboxWork::Extract {
            name: name.clone(),
            offset: 0,
            limit: 9,
            language: Language::En,
        },
        ..look(b"a")
    };
    let mut sandbox = sandbox_over(Settings::new("t", "b"), &http);
    sandbox.run_job(&context, extract()).await.unwrap();
    let request = http.take_requests().remove(0);
    assert!(request.uri().ends_with("/functions/documents/invocations"), "{}", request.uri());
    sandbox.functions.documents = None;
    let why = "the setting DJINN_SANDBOX_DOCUMENTS names no function";
    let missing = sandbox.run_job(&context, extract()).await;
    assert_eq!(missing, Err(SandboxError::Disabled(why.to_owned())));
}

#[tokio::test]
async fn what_the_function_could_not_do_is_said_in_a_sentence() {
    let busy = (429, "TooManyRequestsException");
    for (answers, expected) in [
        (vec![busy, (200, ANSWER)], Ok(JobEnd::Done)),
        (
            vec![busy, busy, busy],
            Err(unavailable("all sandboxes are at work: try again in a minute")),
        ),
        (
            vec![(404, "ResourceNotFoundException")],
            Err(SandboxError::Disabled(
                "the function sandbox cannot be invoked: check DJINN_SANDBOX and the policy".into(),
            )),
        ),
        (
            vec![(500, "ServiceException")],
            Err(unavailable("the sandbox could not be reached: ServiceException")),
        ),
        (
            vec![(200, r#"{"disabled": "this kernel has no seccomp"}"#)],
            Err(SandboxError::Disabled("this kernel has no seccomp".into())),
        ),
        (vec![(200, r#"{"unavailable": "no"}"#)], Err(unavailable("no"))),
        (
            vec![(200, "{}")],
            Err(unavailable(
                "the sandbox's function answered what is no answer: deploy the whole stack",
            )),
        ),
        (Vec::new(), Err(unavailable("the sandbox could not be reached"))),
    ] {
        let sandbox = sandbox_over(Settings::new("t", "b"), &replay_of(&answers));
        let context = JobContext::new(&sample::session());
        let answer = sandbox.run_job(&context, look(b"a")).await;
        assert_eq!(answer.map(|answer| answer.end), expected, "{answers:?}");
    }
}

#[tokio::test]
async fn a_function_that_failed_is_told_apart_from_one_that_was_late() {
    for (text, why) in [
        (r#"{"errorType": "Sandbox.Timedout"}"#, "its time was over"),
        (r#"{"errorType": "Runtime.ExitError"}"#, "see its log"),
    ] {
        let mut answer = response(200, text);
        answer.headers_mut().insert("x-amz-function-error", "Unhandled");
        let sandbox = sandbox_over(Settings::new("t", "b"), &Replay::new([answer]));
        let context = JobContext::new(&sample::session());
        let error = sandbox.run_job(&context, look(b"a")).await.unwrap_err();
        assert_eq!(error, unavailable(&format!("the sandbox's function failed: {why}")));
    }
}

/// Settings of a bucket on this machine, where nobody listens.
fn local_bucket() -> Settings {
    let s3 = Some("http://127.0.0.1:9".to_owned());
    Settings { endpoints: Endpoints { s3, ..Endpoints::default() }, ..Settings::new("t", "b") }
}

#[tokio::test]
async fn a_large_file_of_the_session_travels_by_its_url() {
    let http = replay_of(&[(200, ANSWER)]);
    let sandbox = sandbox_over(local_bucket(), &http);
    let hash = "0a".repeat(32);
    let id = "0b".repeat(32);
    let stored = vec![
        stored_file("written.csv", &format!("files/{hash}"), 30_000_000),
        stored_file("uploaded.csv", &format!("uploads/{id}"), 20_000_000),
    ];
    let context = JobContext { stored, ..JobContext::new(&sample::session()) };
    sandbox.run_job(&context, look(b"a")).await.unwrap();
    let request = http.take_requests().remove(0);
    let sent: JobEnvelope = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
    let host =
        StoreHost { name: "127.0.0.1".into(), addresses: vec!["127.0.0.1".parse().unwrap()] };
    assert_eq!(sent.store, Some(host));
    let objects: Vec<_> = sent.files[1..]
        .iter()
        .map(|file| match &file.content {
            EnvelopeContent::Stored(object) => object,
            EnvelopeContent::Packed(packed) => panic!("{packed:?}"),
        })
        .collect();
    assert_eq!(objects[0].sha256, Some(hash));
    assert!(
        objects[0].url.starts_with("http://127.0.0.1:9/b/tenants/t/files/"),
        "{}",
        objects[0].url
    );
    assert!(objects[0].url.contains("X-Amz-Expires=300"), "{}", objects[0].url);
    assert_eq!((objects[1].size, &objects[1].sha256), (20_000_000, &None));
    assert!(objects[1].url.contains("/tenants/t/uploads/"), "{}", objects[1].url);
    assert_ne!(objects[0].key, objects[1].key);
}

#[tokio::test]
async fn without_a_bucket_that_answers_no_file_is_lost_on_the_way() {
    let http = replay_of(&[(200, ANSWER)]);
    let settings = Settings {
        timeouts: crate::settings::Timeouts { attempts: 1, ..Default::default() },
        ..local_bucket()
    };
    let sandbox = sandbox_over(settings, &http);
    // A small one is read here.
    let stored = vec![stored_file("a.csv", &format!("files/{}", "0a".repeat(32)), 10)];
    let context = JobContext { stored, ..JobContext::new(&sample::session()) };
    let error = sandbox.run_job(&context, look(b"a")).await.unwrap_err();
    assert_eq!(error, unavailable("the files could not be read: try again in a minute"));
    assert!(http.take_requests().is_empty());
}

#[tokio::test]
async fn an_answer_of_another_version_is_none() {
    let other = ANSWER.replace("\"v\": 1", "\"v\": 2");
    let sandbox = sandbox_over(Settings::new("t", "b"), &replay_of(&[(200, &other)]));
    let context = JobContext::new(&sample::session());
    let error = sandbox.run_job(&context, look(b"a")).await.unwrap_err().to_string();
    assert!(error.contains("another version"), "{error}");
}
