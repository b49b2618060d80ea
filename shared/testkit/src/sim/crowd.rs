//! People who look at what a run asks, now and then and several at once, and answer as chance has it:
//! late, twice, at the same time as others, or not for hours.

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
    LoadedRun, ResponseStatus, list_requests, send_message, submit_response,
};
use fastrand::Rng;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{Sim, SimWorld};
use crate::memory::MemoryStore;

/// How long after bad weather a run that waits for people has come to rest: two rings of the alarm.
const RESTS_AFTER: Duration = Duration::from_secs(300);

/// For how long nobody comes then.
const QUIET: Duration = Duration::from_secs(3_600);

/// How long they take to answer whatever is asked, when nothing goes wrong any more.
const PATIENCE: Duration = Duration::from_secs(900);

/// People. Cloning shares them.
#[derive(Clone)]
pub struct Crowd(Arc<Mutex<CrowdState>>);

struct CrowdState {
    rng: Rng,
    began: Instant,
    /// When the first of them looks.
    first_visit: Duration,
    /// Seconds that one thinks at most.
    max_thinking_s: u64,
    weather: Duration,
    is_quiet: bool,
    operations_before: Option<usize>,
    quiet_operations: Option<usize>,
    responses: Vec<CrowdResponse>,
    nth: u32,
}

/// What somebody said, and what they were told.
#[derive(Debug, Clone)]
pub struct CrowdResponse {
    /// The answer is to this request, or to the whole group that the id names.
    pub request: HumanRequestId,
    /// The id of the answer stays the same when the person sends it twice.
    pub id: String,
    /// The person has a new user id for each answer.
    pub by: String,
    /// The answer is drawn by chance from those that fit the request.
    pub answer: HumanResponse,
    /// What came of it.
    pub outcome: Result<ResponseStatus, Failure>,
}

/// How an answer is given.
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
    /// The people of a seed, who see weather that lasts so long, within a runtime whose time is paused.
    #[must_use]
    pub fn of(seed: u64, weather: Duration) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0x0c20_4d00);
        let is_quiet = rng.bool();
        let first_visit = match is_quiet && rng.bool() {
            // Nobody looks before it has been quiet.
            true => weather + RESTS_AFTER,
            false => Duration::from_secs(rng.u64(0..60)),
        };
        let max_thinking_s = if rng.bool() { rng.u64(1..10) } else { rng.u64(10..120) };
        let began = Instant::now();
        let responses = Vec::new();
        let (operations_before, quiet_operations) = (None, None);
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

    /// What they said, in the order in which they heard what came of it.
    #[must_use]
    pub fn given_responses(&self) -> Vec<CrowdResponse> {
        self.lock_state().responses.clone()
    }

    /// How many operations a store was asked for in an hour in which the run waited for people alone;
    /// `None` if it was not seen to.
    #[must_use]
    pub fn quiet_operations(&self) -> Option<usize> {
        self.lock_state().quiet_operations
    }

    /// How much longer than without them a run takes at most.
    pub(super) fn extra_time(&self) -> Duration {
        RESTS_AFTER + QUIET + PATIENCE
    }

    /// The first moment at which a client may come that would come at `at`.
    pub(super) fn delay_visit(&self, at: Instant) -> Instant {
        let state = self.lock_state();
        let from = state.began + state.weather;
        let until = from + RESTS_AFTER + QUIET;
        if state.is_quiet && (from..until).contains(&at) { until } else { at }
    }

    fn lock_state(&self) -> MutexGuard<'_, CrowdState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record_response(&self, saying: &PlannedResponse, came: Result<ResponseStatus, Failure>) {
        let PlannedResponse { answer, request: feedback, id, by, .. } = saying;
        let (answer, feedback, id) = (answer.clone(), feedback.clone(), id.clone());
        let by = by.to_string();
        self.lock_state().responses.push(CrowdResponse {
            request: feedback,
            id,
            by,
            answer,
            outcome: came,
        });
    }

    /// How long somebody who has looked thinks: whoever was first may have answered by then.
    fn draw_thinking_time(&self) -> Duration {
        let mut state = self.lock_state();
        let most = if state.is_good() { 3 } else { state.max_thinking_s };
        Duration::from_millis(state.rng.u64(0..most * 1_000))
    }

    /// What somebody says to what is asked; `None` to leave it to others.
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
        let feedback = if is_one { ask.id.clone() } else { ask.id.group() };
        let digest = match rng.u32(0..8) {
            0 => None,
            1 if !in_time => Some("0".repeat(64)),
            _ => Some(ask.digest.clone()),
        };
        let goes_on = ask.subject.interrupt().is_some() && rng.u32(0..3) == 0;
        // Somebody who has heard of nothing clicks once more.
        let times = if rng.u32(0..4) == 0 { 2 } else { 1 };
        Some(PlannedResponse {
            answer,
            request: feedback,
            id,
            by,
            digest,
            sends_continue: goes_on,
            times,
        })
    }
}

impl CrowdState {
    /// Whether the weather is good again.
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

/// Other arguments: a plan's steps one after another, and else the answer's name.
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
    /// People do what they do now. Returns when they are to be thought of again; never without any.
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
            // Who would come when it is to be quiet, does not.
            if is_quiet && next >= weather && since < weather { weather } else { next }
        };
        let began = crowd.lock_state().began;
        Some(began + next)
    }

    /// Whether a run waits for people, for ever, and nothing brings it back.
    async fn is_parked(&self, key: &RunKey) -> bool {
        let store = MemoryStore::clone(&self.ports.store);
        let Ok(Some(meta)) = store.find_meta(key).await else { return false };
        meta.status == RunStatus::Paused && self.host.lock_timers().is_empty()
    }

    /// What the store was asked for, and what was done besides.
    fn operation_count(&self) -> usize {
        self.ports.store.log().len() + self.points.point_names().len()
    }

    /// Looks and answers what there is, in a process of its own.
    fn spawn_person(&mut self, key: &RunKey, crowd: &Crowd) {
        let (process, ports, serving) = self.new_invocation(key.clone(), 0);
        let crowd = crowd.clone();
        self.spawn_process(process, async move {
            // Who cannot look looks again.
            let Ok(mut run) = LoadedRun::load(&ports, &serving.key).await else { return };
            let Ok(asks) = list_requests(&ports, &mut run).await else { return };
            ports.clock.sleep(crowd.draw_thinking_time()).await;
            for ask in asks {
                if let Some(saying) = crowd.choose_response(&ask) {
                    send_response(&ports, &serving.key, &crowd, saying).await;
                }
            }
        });
    }
}

async fn send_response(ports: &SimWorld, key: &RunKey, crowd: &Crowd, saying: PlannedResponse) {
    for _ in 0..saying.times {
        if saying.sends_continue {
            send_continue(ports, key, saying.id.clone()).await;
            continue;
        }
        let answered = ResponseRecord {
            request: saying.request.clone(),
            id: saying.id.clone(),
            by: Some(saying.by.clone()),
            answer: saying.answer.clone(),
            comment: String::new(),
            digest: saying.digest.clone(),
            via: None,
        };
        let given = match LoadedRun::load(ports, key).await {
            Ok(mut run) => submit_response(ports, &mut run, answered).await,
            Err(failure) => Err(failure),
        };
        crowd.record_response(&saying, given);
    }
}

/// The run's own user says `continue`, if something is still interrupted.
async fn send_continue(ports: &SimWorld, key: &RunKey, id: String) {
    let Ok(mut run) = LoadedRun::load(ports, key).await else { return };
    let asks = list_requests(ports, &mut run).await.unwrap_or_default();
    if asks.iter().any(|ask| ask.subject.interrupt().is_some())
        && let Ok(by) = UserId::new("u")
    {
        // Who heard of nothing looks again.
        let said = UserMessage { id, by, text: "continue".to_owned() };
        let _ = send_message(ports, &mut run, said).await;
    }
}
