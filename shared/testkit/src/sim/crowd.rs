//! People who visit a run several at once, and answer its requests at random: late, twice, concurrently, or
//! after hours.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use djinn_core::error_code::Failure;
use djinn_core::human::{HumanRequest, HumanResponse, ResponseRecord, Subject};
use djinn_core::id::{HumanRequestId, UserId};
use djinn_core::input::UserMessage;
use djinn_core::plan::PLANNING_TOOL;
use djinn_core::status::RunStatus;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::serve::{
    LoadedRun, ResponseCapability, ResponseStatus, list_requests, send_message, submit_response,
};
use fastrand::Rng;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{Sim, SimWorld};
use crate::memory::MemoryStore;

/// The time after the faults until a run that waits for people is idle: two alarms.
const RESTS_AFTER: Duration = Duration::from_secs(300);

/// The quiet time without visits that follows.
const QUIET: Duration = Duration::from_secs(3_600);

/// The maximum time to answer all requests without faults.
const PATIENCE: Duration = Duration::from_secs(900);

/// People who answer requests. Clones share the state.
#[derive(Clone)]
pub struct Crowd(Arc<Mutex<CrowdState>>);

struct CrowdState {
    rng: Rng,
    began: Instant,
    /// The time of the first visit.
    first_visit: Duration,
    /// The maximum thinking time in seconds.
    max_thinking_s: u64,
    weather: Duration,
    is_quiet: bool,
    operations_before: Option<usize>,
    quiet_operations: Option<usize>,
    responses: Vec<CrowdResponse>,
    nth: u32,
}

/// A response of a person, and its result.
#[derive(Debug, Clone)]
pub struct CrowdResponse {
    /// The request, or the group of requests named by the id.
    pub request: HumanRequestId,
    /// The id of the response, equal for both if sent twice.
    pub id: String,
    /// The user id, new for each response.
    pub by: String,
    /// The response, drawn at random from those valid for the request.
    pub answer: HumanResponse,
    /// The result of the submission.
    pub outcome: Result<ResponseStatus, Failure>,
}

/// A response to submit.
#[derive(Clone)]
struct PlannedResponse {
    answer: HumanResponse,
    request: HumanRequestId,
    id: String,
    by: UserId,
    digest: Option<String>,
    sends_continue: bool,
    times: u32,
}

impl Crowd {
    /// Creates the people of a seed, with faults of duration `weather`, in a runtime with paused time.
    #[must_use]
    pub fn of(seed: u64, weather: Duration) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0x0c20_4d00);
        let is_quiet = rng.bool();
        // In this case no person visits before the end of the quiet time.
        let first_visit = if is_quiet && rng.bool() {
            weather + RESTS_AFTER
        } else {
            Duration::from_secs(rng.u64(0..60))
        };
        let max_thinking_s = if rng.bool() { rng.u64(1..10) } else { rng.u64(10..120) };
        let began = Instant::now();
        let responses = Vec::new();
        let operations_before = None;
        let quiet_operations = None;
        let state = CrowdState {
            rng,
            began,
            first_visit,
            max_thinking_s,
            weather,
            is_quiet,
            operations_before,
            quiet_operations,
            responses,
            nth: 0,
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Returns the submitted responses, in the order of their results.
    #[must_use]
    pub fn given_responses(&self) -> Vec<CrowdResponse> {
        self.lock_state().responses.clone()
    }

    /// Returns the number of store operations in an hour during which the run only waited for people. `None`
    /// if not measured.
    #[must_use]
    pub fn quiet_operations(&self) -> Option<usize> {
        self.lock_state().quiet_operations
    }

    /// Returns the maximum additional time of a run with people.
    pub(super) fn extra_time(&self) -> Duration {
        RESTS_AFTER + QUIET + PATIENCE
    }

    /// Returns the time at which a visit planned for `at` may happen.
    pub(super) fn delay_visit(&self, at: Instant) -> Instant {
        let state = self.lock_state();
        let from = state.began + state.weather;
        let until = from + RESTS_AFTER + QUIET;
        if state.is_quiet && (from..until).contains(&at) { until } else { at }
    }

    fn lock_state(&self) -> MutexGuard<'_, CrowdState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the thinking time before a response: another person may be faster.
    fn draw_thinking_time(&self) -> Duration {
        let mut state = self.lock_state();
        let most = if state.is_good() { 3 } else { state.max_thinking_s };
        Duration::from_millis(state.rng.u64(0..most * 1_000))
    }

    /// Draws the response to a request; `None` to leave the request to others.
    fn choose_response(&self, ask: &HumanRequest) -> Option<PlannedResponse> {
        let mut state = self.lock_state();
        if state.rng.u32(0..6) == 0 {
            return None;
        }
        state.nth += 1;
        let id = format!("a{}", state.nth);
        let by = UserId::new(format!("p{}", state.nth)).ok()?;
        let in_time = state.is_good();
        let rng = &mut state.rng;
        let answer = choose_answer(rng, ask, &id);
        let is_one = matches!(answer, HumanResponse::Modify { .. }) || rng.u32(0..5) > 0;
        let request = if is_one { ask.id.clone() } else { ask.id.group() };
        let digest = match rng.u32(0..8) {
            0 => None,
            1 if !in_time => Some("0".repeat(64)),
            _ => Some(ask.digest.clone()),
        };
        let goes_on = ask.subject.interrupt().is_some() && rng.u32(0..3) == 0;
        // A person without a result clicks once more.
        let times = if rng.u32(0..4) == 0 { 2 } else { 1 };
        Some(PlannedResponse { answer, request, id, by, digest, sends_continue: goes_on, times })
    }
}

impl CrowdState {
    /// Returns true after the end of the faults.
    fn is_good(&self) -> bool {
        self.began.elapsed() > self.weather
    }
}

fn choose_answer(rng: &mut Rng, ask: &HumanRequest, id: &str) -> HumanResponse {
    let words = || HumanResponse::Say { text: format!("Not so, says {id}.") };
    match &ask.subject {
        Subject::ModelInterrupt { .. }
        | Subject::StepReview { .. }
        | Subject::ResultReview { .. }
        | Subject::BudgetExtension { .. } => match rng.u32(0..10) {
            0 => HumanResponse::Skip,
            1 => words(),
            _ => HumanResponse::Confirm,
        },
        Subject::Call { .. } | Subject::CallInterrupt { .. } => match rng.u32(0..20) {
            0 => HumanResponse::Stop,
            1..4 => HumanResponse::Skip,
            4..7 => words(),
            7..11 => modified_arguments(ask, id)
                .map_or(HumanResponse::Confirm, |arguments| HumanResponse::Modify { arguments }),
            _ => HumanResponse::Confirm,
        },
    }
}

/// Returns changed arguments: a plan with steps in sequence, or the id of the response for other tools.
fn modified_arguments(ask: &HumanRequest, id: &str) -> Option<Map<String, Value>> {
    let (_, tool, arguments) = ask.subject.call()?;
    if tool != PLANNING_TOOL {
        return Some(Map::from_iter([("to".to_owned(), json!(id))]));
    }
    let steps = arguments.get("steps")?.as_array()?;
    let after = |step| if step == 0 { Vec::new() } else { vec![step] };
    let depends_on: Vec<Vec<usize>> = (0..steps.len()).map(after).collect();
    let command = json!({"command": "create", "steps": steps, "depends_on": depends_on});
    command.as_object().cloned()
}

impl Sim {
    /// Lets people act now. Returns the time of their next action; `None` without people.
    pub(super) async fn let_people_act(&mut self, key: &RunKey) -> Option<Instant> {
        let crowd = self.crowd.clone()?;
        let (since, weather, comes, is_quiet) = {
            let state = crowd.lock_state();
            (state.began.elapsed(), state.weather, state.first_visit, state.is_quiet)
        };
        let rests = weather + RESTS_AFTER;
        let next = if is_quiet && since >= weather && since < rests {
            rests
        } else if is_quiet && since >= rests && since < rests + QUIET {
            let before = self.is_parked(key).await.then(|| self.operation_count());
            crowd.lock_state().operations_before = before;
            rests + QUIET
        } else if since < comes {
            comes
        } else {
            let before = crowd.lock_state().operations_before.take();
            let quiet = before.map(|before| self.operation_count() - before);
            let mut state = crowd.lock_state();
            state.quiet_operations = quiet.or(state.quiet_operations);
            let (people, again) =
                (if state.rng.u32(0..3) == 0 { 3 } else { 1 }, state.rng.u64(2_000..50_000));
            drop(state);
            (0..people).for_each(|_| self.spawn_person(key, &crowd));
            let next = since + Duration::from_millis(again);
            // A visit during the quiet time is skipped.
            if is_quiet && next >= weather && since < weather { weather } else { next }
        };
        let began = crowd.lock_state().began;
        Some(began + next)
    }

    /// Returns true if a run waits for people without any timer.
    async fn is_parked(&self, key: &RunKey) -> bool {
        let store = MemoryStore::clone(&self.ports.store);
        let Ok(Some(meta)) = store.find_meta(key).await else { return false };
        meta.status == RunStatus::Paused && self.host.lock_timers().is_empty()
    }

    /// Returns the number of store operations and points so far.
    fn operation_count(&self) -> usize {
        self.ports.store.log().len() + self.points.point_names().len()
    }

    /// Lets a person read the requests and respond, in a new process.
    fn spawn_person(&mut self, key: &RunKey, crowd: &Crowd) {
        let (process, ports, serving) = self.new_invocation(key.clone(), 0);
        let crowd = crowd.clone();
        self.spawn_process(process, async move {
            // A person who cannot read the requests tries again later.
            let Ok(mut run) = LoadedRun::load(&ports, &serving.key).await else { return };
            let Ok(requests) = list_requests(&ports, &mut run).await else { return };
            ports.clock.sleep(crowd.draw_thinking_time()).await;
            for request in requests {
                if let Some(plan) = crowd.choose_response(&request) {
                    send_response(&ports, &serving.key, &crowd, plan).await;
                }
            }
        });
    }
}

async fn send_response(ports: &SimWorld, key: &RunKey, crowd: &Crowd, plan: PlannedResponse) {
    for _ in 0..plan.times {
        if plan.sends_continue {
            send_continue(ports, key, plan.id.clone()).await;
            continue;
        }
        let response = ResponseRecord {
            request: plan.request.clone(),
            id: plan.id.clone(),
            by: Some(plan.by.clone()),
            answer: plan.answer.clone(),
            comment: String::new(),
            digest: plan.digest.clone(),
            via: None,
        };
        let outcome = match LoadedRun::load(ports, key).await {
            Ok(mut run) => {
                submit_response(ports, &mut run, response, ResponseCapability::Everything).await
            }
            Err(failure) => Err(failure),
        };
        let PlannedResponse { answer, request, id, by, .. } = plan.clone();
        let by = by.to_string();
        crowd.lock_state().responses.push(CrowdResponse { request, id, by, answer, outcome });
    }
}

/// Sends `continue` as the run's user, if work is still interrupted.
async fn send_continue(ports: &SimWorld, key: &RunKey, id: String) {
    let Ok(mut run) = LoadedRun::load(ports, key).await else { return };
    let requests = list_requests(ports, &mut run).await.unwrap_or_default();
    if requests.iter().any(|request| request.subject.interrupt().is_some())
        && let Ok(by) = UserId::new("u")
    {
        // A person without a result tries again later.
        let message = UserMessage { id, by, text: "continue".to_owned() };
        let _ = send_message(ports, &mut run, message, ResponseCapability::Everything).await;
    }
}
