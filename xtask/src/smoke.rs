//! `cargo xtask smoke`: checks a running deployment from outside, for less than a cent.
//!
//! The only cost is one model call with a short answer: the resumed stream is that of the same run, and the file
//! is uploaded and downloaded without a model. A run that calls a tool is stopped at once.

mod advice;
mod cut_run;
mod entries;
mod timing;

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use djinn_settings::table::dev::KEY;
use reqwest::Url;
use serde_json::{Value, json};

use crate::dev::{
    ServerClient, environment_vars, failure_text, is_html, list_at, new_request_id, number_at,
    text_at,
};
use crate::signature::RequestSigner;
use crate::terminal::print_line;
use crate::time::format_duration;
use advice::{AGENT_LOG, CheckFailure, NOT_DJINN, advise_on_failure};
use cut_run::{CutRun, ask_and_cut};
use entries::find_fault;
use timing::{MEASURABLE_MS, StreamTiming};

/// The deployment to check.
#[derive(clap::Args)]
pub(crate) struct SmokeArguments {
    /// URL of the agent: the stack's output Url or RestUrl, a CDN, or http://127.0.0.1:9000.
    pub(crate) url: Url,
    /// API key or token; the default is `DJINN_KEY`.
    #[arg(long)]
    pub(crate) token: Option<String>,
    /// Signs requests with the AWS credentials in the environment, for AuthType=AWS_IAM and RestUrl.
    #[arg(long)]
    pub(crate) sign: bool,
    /// Sends the requests to an emulator of AWS at this URL, and accepts a buffered stream.
    #[arg(long, value_name = "URL")]
    pub(crate) emulator: Option<Url>,
}

/// Timeout of a check without a model.
const CHECK_TIMEOUT: Duration = Duration::from_secs(60);

/// Timeout of the question.
const QUESTION_TIMEOUT: Duration = Duration::from_mins(3);

/// Maximum expected cost, in millionths of a US dollar.
const CENT: u64 = 10_000;

/// Checks health, a question, the timing of the stream, a resume, a file and a deletion; prints a line for each.
///
/// # Errors
/// Returns an error if a check fails, or if the URL or the credentials for `--sign` are unusable.
pub(crate) fn run(arguments: SmokeArguments) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run_checks(arguments))
}

/// Runs the checks of [`run`] in the runtime of the caller.
///
/// # Errors
/// Returns an error if a check fails, or if the URL or the credentials for `--sign` are unusable.
pub(crate) async fn run_checks(arguments: SmokeArguments) -> Result<()> {
    let SmokeArguments { url, token, sign, emulator } = arguments;
    let accept_buffered = emulator.is_some();
    let var = environment_vars();
    let signer = if sign { Some(RequestSigner::of_environment(&url, &var)?) } else { None };
    let http = reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(5))
        .tcp_nodelay(true)
        // Another host must not receive the credentials.
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    let server = ServerClient::new(http, url.as_str(), token.or_else(|| KEY.find_text(&var)));
    let server = server.with_routing(signer, emulator);
    let session = new_request_id().replacen("ask", "smoke", 1);
    let mut report = Report::default();

    if report.add("health", check_health(&server).await) {
        let mut run = String::new();
        let question = ask_and_cut(&server, &session, &mut run);
        let result = tokio::time::timeout(QUESTION_TIMEOUT, question).await.unwrap_or_else(|_| {
            Err(anyhow::anyhow!("no end after {}", format_duration(QUESTION_TIMEOUT)))
        });
        match result {
            Ok(cut_run) => {
                if report.add("question", check_ending(&cut_run)) {
                    report.add("stream", check_timing(&cut_run.before.timing, accept_buffered));
                    report.add("resume", check_resume(&cut_run));
                } else {
                    report.skip(&["stream", "resume"], NO_ANSWER);
                }
            }
            Err(error) => {
                report.add("question", Err(CheckFailure::of_error(&error, AGENT_LOG)));
                report.skip(&["stream", "resume"], NO_ANSWER);
                if !run.is_empty() {
                    // An error here would hide the first one.
                    let _stopped = limit_time(stop_run(&server, &run), AGENT_LOG).await;
                }
            }
        }
        report.add("file", limit_time(check_file(&server, &session), FILE_PLACES).await);
        report
            .add("deletion", limit_time(check_deletion(&server, &session), DELETION_PLACES).await);
    } else {
        report.skip(&["question", "stream", "resume", "file", "deletion"], "no healthy agent");
    }
    ensure!(report.failures == 0, "{} of {} checks failed", report.failures, CHECKS);
    Ok(())
}

/// Stops a run, which would cost more without a reader, and waits for the end.
async fn stop_run(server: &ServerClient, run: &str) -> Result<String> {
    server.post_json(&format!("/runs/{run}/stop"), &json!({})).await?;
    let mut events = server.follow_stream(run, None).await?;
    while let Some(event) = events.next_event().await? {
        if event.name == "run.ended" {
            break;
        }
    }
    Ok("stopped".to_owned())
}

const NO_ANSWER: &str = "the question has no answer";

/// The number of checks.
const CHECKS: usize = 6;

/// The results so far.
#[derive(Default)]
struct Report {
    failures: usize,
}

impl Report {
    /// Prints the result of a check. Returns true if the check passed.
    fn add(&mut self, name: &str, result: Result<String, CheckFailure>) -> bool {
        match result {
            Ok(measured) => {
                print_line(&format!("ok      {name:10}{measured}"));
                true
            }
            Err(CheckFailure { fault, look_at }) => {
                self.failures += 1;
                print_line(&format!("FAILED  {name:10}{fault}\n        look at   {look_at}"));
                false
            }
        }
    }

    fn skip(&mut self, names: &[&str], reason: &str) {
        self.failures += names.len();
        for name in names {
            print_line(&format!("FAILED  {name:10}not checked: {reason}"));
        }
    }
}

/// Runs a check for a minute at most, and explains its error.
async fn limit_time(
    check: impl Future<Output = Result<String>>,
    places: &str,
) -> Result<String, CheckFailure> {
    match tokio::time::timeout(CHECK_TIMEOUT, check).await {
        Ok(result) => result.map_err(|error| CheckFailure::of_error(&error, places)),
        Err(_) => {
            let fault = format!("no response within {}", format_duration(CHECK_TIMEOUT));
            Err(CheckFailure::new(fault, places))
        }
    }
}

async fn check_health(server: &ServerClient) -> Result<String, CheckFailure> {
    let check = async {
        let began = Instant::now();
        let text = server.get_text("/web/health").await?;
        if text.trim() != "ok" {
            let kind = if is_html(&text) { "an HTML page" } else { "another text" };
            bail!("/web/health returns {kind} instead of `ok`");
        }
        Ok(format!("`ok` after {} ms", began.elapsed().as_millis()))
    };
    limit_time(check, NOT_DJINN).await
}

fn check_ending(cut_run: &CutRun) -> Result<String, CheckFailure> {
    let CutRun { opened_after, whole, .. } = cut_run;
    let ending = whole.ending.as_ref().unwrap_or(&Value::Null);
    if text_at(ending, "/status") != "finished" || text_at(ending, "/answer").is_empty() {
        let failure = ending.get("failure").filter(|failure| !failure.is_null());
        let fault = failure.map_or_else(|| "the run has no answer".to_owned(), failure_text);
        return Err(CheckFailure::new(fault, advise_on_failure(text_at(ending, "/failure/code"))));
    }
    let spent = |of: &str| number_at(ending, &format!("/spent/{of}"));
    Ok(format!(
        "{} model call, {} tokens, {}; first byte after {} ms, answer after {} ms",
        spent("model_calls"),
        spent("usage/input_tokens") + spent("usage/output_tokens"),
        describe_cost(ending.pointer("/spent/usage/micro_usd").and_then(Value::as_u64)),
        opened_after.as_millis(),
        number_at(ending, "/took_ms"),
    ))
}

/// Describes a cost in millionths of a US dollar.
fn describe_cost(micro_usd: Option<u64>) -> String {
    match micro_usd {
        None => "no price known".to_owned(),
        Some(cost) => {
            let warning =
                if cost < CENT { "" } else { " (MORE THAN A CENT: choose a cheaper model)" };
            format!("{}.{:04} US cents{warning}", cost / CENT, cost % CENT)
        }
    }
}

fn check_timing(timing: &StreamTiming, accept_buffered: bool) -> Result<String, CheckFailure> {
    let span_ms = timing.span_ms();
    let measured = format!(
        "{} events written over {span_ms} ms arrived {} ms late on average",
        timing.event_count(),
        timing.mean_delay_ms()
    );
    if span_ms < MEASURABLE_MS {
        let fault =
            format!("not measurable: the first {} events span {span_ms} ms", timing.event_count());
        Err(CheckFailure::new(
            fault,
            "the model, which answers faster than a stream can show; ask again",
        ))
    } else if !timing.is_buffered() {
        Ok(measured)
    } else if accept_buffered {
        Ok(format!("BUFFERED, as expected of an emulator: {measured}"))
    } else {
        let fault = format!("the stream is buffered: {measured}");
        Err(CheckFailure::new(fault, BUFFERED_PLACES))
    }
}

const BUFFERED_PLACES: &str = "InvokeMode of the function URL (RESPONSE_STREAM), responseTransferMode of the REST API \
    (STREAM), and each proxy, VPN or CDN between this machine and AWS";

fn check_resume(cut_run: &CutRun) -> Result<String, CheckFailure> {
    let CutRun { before, after, whole, .. } = cut_run;
    let cursor = before.cursor.as_deref();
    let after = after.as_ref().map_err(|error| CheckFailure::of_error(error, RESUME_PLACES))?;
    if let Some(fault) = find_fault(&whole.entries, &before.entries, &after.entries, cursor) {
        let fault = format!("the stream resumed after {} {fault}", cursor.unwrap_or("no cursor"));
        return Err(CheckFailure::new(fault, RESUME_PLACES));
    }
    Ok(format!(
        "{} entries before the cut at {}, {} after the cut: none lost, none twice",
        before.entries.len(),
        cursor.unwrap_or("no cursor"),
        after.entries.len()
    ))
}

const RESUME_PLACES: &str = "the header Last-Event-ID, which each proxy must pass on (in CloudFront, the origin request \
    policy AllViewerExceptHostHeader), and caching, which must be off";

async fn check_file(server: &ServerClient, session: &str) -> Result<String> {
    let began = Instant::now();
    let name = "smoke.txt";
    let content = format!("Written by `cargo xtask smoke` in the session {session}.\n");
    let file_url = server.upload_bytes(session, name, content.clone().into_bytes()).await?;
    let list = server.get_json(&format!("/sessions/{session}/files")).await?;
    let file = list_at(&list, "/files").find(|file| text_at(file, "/name") == name);
    let link =
        text_at(file.context("the session does not list the uploaded file")?, "/download_url");
    let downloaded = server.download_file(link).await.context("the download by link")?;
    ensure!(
        downloaded == content.as_bytes(),
        "the link returns {} other bytes than the {} uploaded ones",
        downloaded.len(),
        content.len()
    );
    Ok(format!(
        "{} bytes uploaded to {file_url} and downloaded by link after {} ms",
        content.len(),
        began.elapsed().as_millis()
    ))
}

const FILE_PLACES: &str = "the permissions of AgentRole on the bucket (RunPolicy, and KmsPolicy with your own key), the \
    bucket policy, and for links the parameter LinkUrl";

async fn check_deletion(server: &ServerClient, session: &str) -> Result<String> {
    server.delete(&format!("/sessions/{session}")).await?;
    Ok(format!("session {session} with its run and file"))
}

const DELETION_PLACES: &str = "the permissions dynamodb:DeleteItem and s3:DeleteObject of AgentRole and ExecutorRole, and \
    the log groups AgentLogs and ExecutorLogs";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_above_a_cent_is_marked() {
        for (cost, text) in [
            (None, "no price known"),
            (Some(0), "0.0000 US cents"),
            (Some(5_213), "0.5213 US cents"),
            (Some(12_000), "1.2000 US cents (MORE THAN A CENT: choose a cheaper model)"),
        ] {
            assert_eq!(describe_cost(cost), text);
        }
    }
}
