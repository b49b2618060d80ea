//! The invariants of ARCHITECTURE.md that a single run can break, tried with random inputs.

use std::collections::BTreeSet;

use djinn_core::conversation::{CompactionRange, Conversation, count_turns};
use djinn_core::effect::{Delivery, Effect, EffectId, Limit};
use djinn_core::entry::Event;
use djinn_core::human::HumanResponse;
use djinn_core::id::{CallId, ChildId, HumanRequestId, MessageId, StepId};
use djinn_core::input::{ChildRequest, Input, InterruptTarget, RunSpec};
use djinn_core::journal::{Journal, Record};
use djinn_core::plan::StepEdit;
use djinn_core::review::ReviewPolicy;
use djinn_core::run::Run;
use djinn_core::settings::{Role, SummaryPolicy};
use djinn_core::status::RunStatus;
use djinn_core::tool::{EffectClass, ToolFailure};
use proptest::prelude::*;
use serde_json::json;

use crate::story::{self, human_requests, review};

/// Tokens that a model takes; turns are so short that this is full only if a reply says so.
const WINDOW: u64 = 1_000;

/// What people say, and what makes them be asked.
fn any_response() -> impl Strategy<Value = Input> {
    let own = prop_oneof![
        4 => (1u32..6, 1u32..4).prop_map(|(turn, index)| format!("t{turn}.c{index}")),
        1 => (1u32..6, 1u32..4, 1u32..3).prop_map(|(t, c, n)| format!("t{t}.c{c}.again{n}")),
        1 => (1u32..6, 1u32..3).prop_map(|(turn, n)| format!("t{turn}.again{n}")),
        2 => (1u32..6).prop_map(|turn| format!("t{turn}")),
        1 => Just("summary.again1".to_owned()),
    ];
    let request = (own, prop_oneof![3 => Just(None), 1 => (1u32..7, 1u32..3).prop_map(Some)])
        .prop_map(|(own, task)| match task {
            None => own,
            Some((step, attempt)) => format!("s{step}.{attempt}.{own}"),
        });
    let answer = prop_oneof![
        4 => Just(HumanResponse::Confirm),
        2 => Just(HumanResponse::Modify { arguments: human_requests::changed() }),
        2 => Just(HumanResponse::Skip),
        1 => Just(HumanResponse::Say { text: "Not this.".to_owned() }),
        1 => Just(HumanResponse::Stop),
    ];
    let call = (1u32..6, 1u32..4).prop_map(|(turn, index)| format!("t{turn}.c{index}"));
    let call = call.prop_map(|call| InterruptTarget::Call(CallId::new(call).unwrap()));
    let message = prop_oneof![
        (1u32..6).prop_map(|turn| format!("t{turn}")),
        Just("summary".to_owned()),
        Just("employees".to_owned()),
    ];
    let message = message.prop_map(|id| InterruptTarget::Message(MessageId::new(id).unwrap()));
    prop_oneof![
        6 => (request.clone(), answer).prop_map(|(request, answer)| {
            Input::HumanResponded(Box::new(human_requests::answered(&request, answer)))
        }),
        1 => request.prop_map(|request| {
            Input::HumanRequestExpired { request: HumanRequestId::new(request).unwrap() }
        }),
        2 => prop_oneof![call, message]
            .prop_map(|of| Input::Interrupted { target: of, interrupt: human_requests::interrupt() }),
        1 => (1u32..7, 1u32..3, 1u32..4, 0u32..3, any::<bool>()).prop_map(
            |(step, attempt, version, answers, paused)| {
                task_asks(ChildId::for_step(step, attempt), version, answers, paused)
            }
        ),
        1 => (1u32..5).prop_map(|version| {
            Input::Delivered { delivery: Delivery::ChildRequest(version) }
        }),
        1 => (1u32..7, 1u32..3, 1u32..4).prop_map(|(step, attempt, version)| {
            let request = HumanRequestId::new(format!("s{step}.{attempt}.t{version}.c1")).unwrap();
            Input::Delivered { delivery: Delivery::HumanResponse(request) }
        }),
    ]
}

/// A task that asks about one call of each of its turns.
fn task_asks(task: ChildId, version: u32, answers: u32, paused: bool) -> Input {
    let (mut run, _) = Run::start(human_requests::asked_with_approval("why?"), 0);
    let reply = story::replied(&format!("t{version}"), "", &[("send", json!({"of": 1}))]);
    for turn in 1..version {
        run.apply_input(
            &story::replied(&format!("t{turn}"), "", &[("send", json!({"of": turn}))]),
            0,
        );
        run.apply_input(&story::returned(&format!("t{turn}.c1"), "fine"), 0);
    }
    run.apply_input(&human_requests::with_declared(reply), 0);
    let asks = run.pending_requests().cloned().collect();
    let reasoning = String::new();
    Input::ChildRequested(Box::new(ChildRequest {
        child: task,
        version,
        requests: asks,
        reasoning,
        response_count: answers,
        paused,
    }))
}

/// Inputs as they might come: right ones, late ones, repeated ones, ones for somebody else.
fn any_input() -> impl Strategy<Value = Input> {
    let message = prop_oneof![
        6 => (1u32..6).prop_map(|turn| format!("t{turn}")),
        3 => (1u32..6).prop_map(|turn| format!("t{turn}.compact")),
        1 => Just("summary".to_owned()),
        1 => Just("employees".to_owned()),
    ];
    let call = (1u32..6, 1u32..4).prop_map(|(turn, index)| format!("t{turn}.c{index}"));
    let calls = proptest::collection::vec((0usize..4, 0u32..3), 0..4);
    prop_oneof![
        6 => (message.clone(), calls, 0u64..=WINDOW * 3 / 2).prop_map(|(message, calls, tokens)| {
            let names = ["read", "file_tool", "send", "dance"];
            let calls: Vec<_> =
                calls.iter().map(|(tool, of)| (names[*tool], json!({"of": of}))).collect();
            story::filling(story::replied(&message, "words", &calls), tokens, WINDOW)
        }),
        6 => call.clone().prop_map(|call| story::returned(&call, "fine")),
        2 => call.clone().prop_map(|call| story::failed(&call, ToolFailure::Error)),
        3 => call.clone().prop_map(|call| story::started(&call)),
        2 => (call.clone(), 1u32..4).prop_map(|(call, attempt)| story::tool_stalled(&call, attempt)),
        1 => (call, 0u32..9)
            .prop_map(|(call, nth)| story::wrote(&call, &format!("growth-{nth}.md"))),
        1 => (message.clone(), 1u32..4).prop_map(|(m, attempt)| story::broke_off(&m, attempt)),
        1 => (message.clone(), 1u32..4).prop_map(|(m, attempt)| story::model_stalled(&m, attempt)),
        1 => (message.clone(), 1u32..4).prop_map(|(m, attempt)| story::failed_silently(&m, attempt)),
        1 => (message.clone(), 1u32..4).prop_map(|(m, attempt)| story::delayed(&m, attempt, 9_000)),
        1 => message.clone().prop_map(|message| story::model_changed(&message)),
        1 => message.clone().prop_map(|message| story::model_failed(&message)),
        1 => message.prop_map(|message| story::cut_off(&message, "half")),
        1 => (2u64..9, any::<bool>())
            .prop_map(|(epoch, apart)| Input::Resumed { epoch, lost_usage: None, isolated: apart }),
        1 => (0u32..3).prop_map(|id| Input::FileAdded {
            id: id.to_string(),
            file: story::file("late.csv"),
        }),
        1 => Just(story::names(r#"{"read": "Reader"}"#)),
        4 => any_response(),
        1 => (0u32..9).prop_map(|id| human_requests::said(&id.to_string(), "And silver?")),
        1 => Just(story::stop()),
        1 => Just(Input::LimitReached { limit: Limit::WallTime }),
        1 => Just(Input::LimitReached { limit: Limit::WorkTime }),
        1 => Just(Input::Delivered { delivery: Delivery::AlarmRemoval }),
        1 => (1u32..7, 1u32..3).prop_map(|(step, attempt)| {
            Input::Delivered { delivery: Delivery::StopChild(ChildId::for_step(step, attempt)) }
        }),
    ]
}

/// What a planner says and what becomes of its tasks, besides all of the above.
fn any_planned_input() -> impl Strategy<Value = Input> {
    let steps = proptest::collection::vec("[a-d]", 1..4);
    let command = prop_oneof![
        4 => steps.prop_map(|steps| {
            json!({"command": "update", "steps": steps, "depends_on": []})
        }),
        4 => proptest::collection::vec("[a-d]", 1..4)
            .prop_map(|steps| json!({"command": "create", "steps": steps})),
        1 => (1u32..6).prop_map(|step| {
            json!({"command": "mark_step", "step_index": step, "step_status": "completed"})
        }),
        1 => Just(json!({"command": "finish"})),
    ];
    let kept = (1u32..5).prop_map(|version| Input::PlanSaved { version });
    let step =
        (prop_oneof![Just(None), (1u32..5).prop_map(Some)], "[a-d]", 1usize..4, any::<bool>());
    let step = step.prop_map(|(id, details, on, depends)| StepEdit {
        id: id.map(StepId),
        details,
        depends_on: depends.then_some(on).into_iter().collect(),
        ..StepEdit::default()
    });
    let steps = proptest::collection::vec(step, 1..4);
    let edited = (1u32..6, 0u32..9, steps)
        .prop_map(|(version, id, steps)| human_requests::edited(&id.to_string(), version, steps));
    let task = (1u32..7, 1u32..3).prop_map(|(step, attempt)| format!("s{step}.{attempt}"));
    prop_oneof![
        6 => ((1u32..6), command)
            .prop_map(|(turn, command)| story::planned(&format!("t{turn}"), &command)),
        4 => (1u32..6).prop_map(|turn| story::replied(&format!("t{turn}.compact"), "notes", &[])),
        6 => task.clone().prop_map(|task| story::task_ended(&task, RunStatus::Finished, "done")),
        2 => task.prop_map(|task| story::task_ended(&task, RunStatus::Failed, "not done")),
        2 => kept,
        3 => edited,
        4 => any_input(),
    ]
}

/// What answers the first effect of those that are owed, well or badly, by two dice.
fn answer(due: &[Effect], how: u8, tokens: u64) -> Input {
    let words = "words ".repeat(usize::from(how) + 1);
    let names = |owed: &&Effect| matches!(owed, Effect::CallModel(c) if c.role == Role::Employees);
    // It is owed behind all else: now and then it comes first.
    let beside = due.iter().find(names).filter(|_| how % 4 == 3);
    match beside.or(due.first()) {
        Some(_) if how == 0 => story::died(tokens + 2),
        Some(Effect::CallModel(call)) => {
            let message = &call.message.to_string();
            let reply = match (call.role, how % 16) {
                (_, 0) => return story::model_failed(message),
                (_, 1) => return story::broke_off(message, call.attempt),
                (_, 13) => return story::delayed(message, call.attempt, 1_000),
                (_, 14) => return story::model_stalled(message, call.attempt),
                (_, 15) if call.fallback.is_none() => return story::model_changed(message),
                (Role::Compactor, 2) => story::replied(message, "", &[]),
                (Role::Compactor | Role::Summary, _) => story::replied(message, "notes", &[]),
                (Role::Employees, _) => story::names(r#"{"read": "Reader"}"#),
                (Role::Planner, 2..9) => {
                    let steps: Vec<_> = (0..=call.message.to_string().len() + usize::from(how % 3))
                        .map(|nth| format!("step {nth}{message}"))
                        .collect();
                    story::planned(message, &json!({"command": "update", "steps": steps}))
                }
                (_, 2) => story::replied(message, &words, &[]),
                (_, 3..6) => {
                    let task = json!({"task": words});
                    let helped = [("helper", task.clone()), ("read", json!({})), ("helper", task)];
                    story::replied(message, &words, &helped[..usize::from(how % 3) + 1])
                }
                (_, _) => story::replied(message, &words, &[("file_tool", json!({"of": message}))]),
            };
            story::filling(reply, tokens, WINDOW)
        }
        Some(Effect::RunTool(run)) if how % 16 == 14 => {
            story::tool_stalled(&run.call.id.to_string(), run.attempt)
        }
        Some(Effect::RunTool(run)) => story::wrote(&run.call.id.to_string(), &format!("{how}.md")),
        Some(Effect::RunChild(dispatch)) if matches!(dispatch.child, ChildId::Review(_)) => {
            let child = &dispatch.child;
            match how % 4 {
                0 => review::input(&format!("fails {child}")),
                1 => review::input(&format!("accepts {child}")),
                _ => review::input(&format!("criticizes {child}")),
            }
        }
        Some(Effect::RunChild(dispatch)) => {
            story::task_ended(&dispatch.child.to_string(), RunStatus::Finished, &words)
        }
        Some(Effect::AwaitHuman(ask)) => match how % 8 {
            1 => Input::HumanRequestExpired { request: ask.request.clone() },
            _ => Input::HumanResponded(Box::new(human_requests::answered(
                &ask.request.to_string(),
                match how % 8 {
                    2 => HumanResponse::Skip,
                    3 => HumanResponse::Say { text: words },
                    4 => HumanResponse::Modify { arguments: human_requests::changed() },
                    _ => HumanResponse::Confirm,
                },
            ))),
        },
        Some(Effect::SavePlan { version }) => Input::PlanSaved { version: *version },
        Some(Effect::SaveAnswer(_)) => Input::AnswerSaved { file: None },
        Some(Effect::Wait { .. } | Effect::Deliver(_)) | None => story::stop(),
    }
}

/// Inputs that bring a run forward: each answers what is owed after those before it.
fn driven(asked: &RunSpec, dice: &[(u8, u64)]) -> Vec<Input> {
    let (mut run, _) = Run::start(asked.clone(), 0);
    let mut inputs = Vec::new();
    for (how, tokens) in dice {
        let interrupts = how % 32 == 31;
        let input = match run.due().first() {
            Some(Effect::RunTool(tool)) if interrupts => {
                let of = InterruptTarget::Call(tool.call.id.clone());
                Input::Interrupted { target: of, interrupt: human_requests::interrupt() }
            }
            Some(Effect::CallModel(call)) if interrupts => {
                let of = InterruptTarget::Message(call.message.clone());
                Input::Interrupted { target: of, interrupt: human_requests::interrupt() }
            }
            _ => human_requests::with_declared(answer(&run.due(), *how, *tokens)),
        };
        run.apply_input(&input, 0);
        inputs.push(input);
    }
    inputs
}

/// A question of either mode and what the run is told after it.
fn any_story() -> impl Strategy<Value = (RunSpec, Vec<Input>)> {
    let long = prop_oneof![Just(0), Just(WINDOW)];
    let react = proptest::collection::vec(any_input(), 0..60);
    let limits = (prop::sample::select(vec![500, 3_000, 1_000_000]), 3u32..30);
    let plan = (proptest::collection::vec(any_planned_input(), 0..60), limits);
    let task = proptest::collection::vec(any_input(), 0..60);
    let runs = prop_oneof![
        task.prop_map(|inputs| (story::asked_as_a_task("why?"), inputs)),
        react.prop_map(|inputs| (story::asked("why?"), inputs)),
        plan.prop_map(|(inputs, (tokens, run_steps))| {
            let mut asked = story::asked_to_plan("why?");
            asked.settings.plan.max_parallel_tasks = 2;
            asked.settings.plan.max_run_turns = run_steps;
            asked.settings.budget.tokens = tokens;
            (asked, inputs)
        }),
    ];
    let dice = proptest::collection::vec((any::<u8>(), 0u64..=WINDOW * 3 / 2), 0..60);
    let confirms = (any::<bool>(), any::<bool>(), any::<bool>(), 0u32..=2);
    (runs, long, prop_oneof![Just(None), dice.prop_map(Some)], confirms).prop_map(
        |((mut asked, inputs), tokens, dice, (approval, steps, results, rounds))| {
            asked.review = Some(ReviewPolicy { agent: "reviewer".to_owned(), rounds });
            asked.settings.human.enabled = approval;
            asked.settings.human.confirm_plan = approval;
            asked.settings.human.confirm_results = results;
            let summary = if results { SummaryPolicy::Always } else { SummaryPolicy::WhenNeeded };
            asked.settings.summary_policy = Some(summary);
            let steps = steps.then(|| "*".to_owned());
            asked.settings.human.confirm_steps = steps.into_iter().collect();
            let inputs = inputs.into_iter().map(human_requests::with_declared).collect();
            story::with_history(&mut asked, tokens, WINDOW);
            asked.settings.context.keep_turns = 2;
            let Some(dice) = dice else { return (asked, inputs) };
            asked.settings.budget.steps = 30;
            let inputs = driven(&asked, &dice);
            (asked, inputs)
        },
    )
}

/// The effects that an input answers, given what was owed before it.
fn answered(input: &Input, due: &[Effect]) -> BTreeSet<EffectId> {
    let stays = |effect: &&Effect| match effect {
        Effect::Deliver(delivery) => !is_about_asks(delivery),
        _ => false,
    };
    let all = || due.iter().filter(|effect| !stays(effect)).map(Effect::id).collect();
    let first = |wanted: EffectId| {
        let ids = due.iter().map(Effect::id);
        ids.filter(|id| *id.without_interrupts() == wanted).collect::<BTreeSet<_>>()
    };
    let asks = |named: &str| {
        let ids = due.iter().filter_map(|effect| match effect {
            Effect::AwaitHuman(ask) => Some(ask.request.clone()),
            _ => None,
        });
        let group = format!("{named}.");
        let ids = ids.filter(|id| id.to_string() == named || id.to_string().starts_with(&group));
        ids.map(EffectId::Human).collect::<BTreeSet<_>>()
    };
    match input {
        Input::Interrupted { target: InterruptTarget::Call(call), .. } => {
            first(EffectId::Tool(call.clone()))
        }
        Input::Interrupted { target: InterruptTarget::Message(message), .. } => {
            first(EffectId::Model(message.clone()))
        }
        Input::HumanResponded(answered) => match answered.answer {
            HumanResponse::Stop => all(),
            _ => asks(&answered.request.to_string()),
        },
        Input::HumanRequestExpired { request } => asks(&request.to_string()),
        Input::ChildRequested(_) | Input::UserMessageAdded(_) | Input::PlanEdited(_) => {
            BTreeSet::new()
        }
        Input::ModelReplied(replied) => first(EffectId::Model(replied.message.clone())),
        Input::ModelFailed { message, .. } => {
            let mut ended: BTreeSet<_> = all();
            ended.insert(EffectId::Model(message.clone()));
            ended
        }
        // The third standstill or death ends what it counts against.
        Input::AttemptFailed(failed) if failed.counts_as_crash => {
            let call = due.iter().find_map(|effect| match effect {
                Effect::CallModel(call) if call.message == failed.message => Some(call),
                _ => None,
            });
            match call {
                Some(call) if call.role == Role::Employees => {
                    first(EffectId::Model(call.message.clone()))
                }
                Some(call) if call.crashes >= 2 => all(),
                Some(_) | None => BTreeSet::new(),
            }
        }
        Input::ToolStalled { call, .. } => {
            let is_last =
                |effect: &&Effect| matches!(effect, Effect::RunTool(run) if run.attempt >= 3);
            let ids = due.iter().filter(is_last).map(Effect::id);
            ids.filter(|id| *id.without_interrupts() == EffectId::Tool(call.clone())).collect()
        }
        Input::AgentChanged(changed) => first(EffectId::Tool(changed.call.clone())),
        Input::ToolReturned { call, .. } => {
            let mut answered = first(EffectId::Tool(call.clone()));
            answered.extend(call.to_child().map(EffectId::Child));
            answered
        }
        Input::AnswerSaved { .. } => BTreeSet::from([EffectId::Answer]),
        Input::StopRequested { .. } | Input::LimitReached { .. } => all(),
        Input::ChildEnded(ended) => {
            let mut answered = asks(&ended.report.child.to_string());
            answered.insert(EffectId::Child(ended.report.child.clone()));
            answered.extend(due.iter().map(Effect::id).filter(|id| match id {
                EffectId::Deliver(Delivery::HumanResponse(request)) => {
                    request.to_string().starts_with(&format!("{}.", ended.report.child))
                }
                _ => false,
            }));
            answered
        }
        Input::PlanSaved { version } => BTreeSet::from([EffectId::Plan(*version)]),
        Input::Delivered { delivery } => BTreeSet::from([EffectId::Deliver(delivery.clone())]),
        // It is the answer of started `once` calls, and of what has crashed three times.
        Input::Resumed { .. } => due
            .iter()
            .filter(|effect| match effect {
                Effect::RunTool(run) => {
                    (run.class == EffectClass::Once && run.started) || run.attempt >= 3
                }
                // It is given up before it takes its task down.
                Effect::CallModel(call) if call.role == Role::Employees => call.crashes >= 1,
                Effect::CallModel(call) => call.crashes >= 2,
                Effect::Wait { .. }
                | Effect::AwaitHuman(_)
                | Effect::RunChild(_)
                | Effect::SavePlan { .. }
                | Effect::SaveAnswer(_)
                | Effect::Deliver(_) => false,
            })
            .map(Effect::id)
            .collect(),
        Input::Started(_)
        | Input::AttemptFailed(_)
        | Input::ModelChanged(_)
        | Input::ToolStarted { .. }
        | Input::FileAdded { .. } => BTreeSet::new(),
    }
}

/// What nobody waits for once the work has ended.
fn is_about_asks(delivery: &Delivery) -> bool {
    matches!(delivery, Delivery::HumanResponse(_) | Delivery::ChildRequest(_))
}

fn ids(due: &[Effect]) -> BTreeSet<EffectId> {
    due.iter().map(Effect::id).collect()
}

/// Turns and rounds, those that were summed up included.
fn turns(conversation: &Conversation) -> usize {
    let compacted = conversation.compacted.as_ref().map_or(0, |compacted| compacted.turns);
    compacted as usize + count_turns(&conversation.items)
}

fn exchanges(conversation: &Conversation) -> usize {
    let compacted = conversation.compacted.as_ref().map_or(0, |compacted| compacted.exchanges);
    compacted as usize + conversation.history.len()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn an_effect_stays_due_until_it_is_answered_and_never_comes_back(
        (asked, inputs) in any_story(),
    ) {
        let (mut journal, _) = Journal::open(asked, 1, story::write(0), 0);
        let mut gone: BTreeSet<EffectId> = BTreeSet::new();
        for input in inputs {
            let before = journal.run().due();
            let ended_before = journal.run().status().has_ended();
            let n = journal.next_number();
            let decided = journal.decide_record(vec![input.clone()], 1, story::write(n), 100);
            let Some((next, _)) = decided else { continue };
            let after = ids(&next.run().due());
            prop_assert_eq!(after.len(), next.run().due().len(), "an effect is owed twice");
            if ended_before || !next.run().status().has_ended() {
                let mut owed = ids(&before);
                for id in answered(&input, &before) {
                    owed.remove(&id);
                }
                // The last answer of the work also ends all else of it.
                let sums_up = EffectId::Model(MessageId::summary());
                if after.contains(&sums_up) && !ids(&before).contains(&sums_up) {
                    let stays = |id: &EffectId| match id {
                        EffectId::Wait(Limit::WallTime) => true,
                        EffectId::Deliver(delivery) => !is_about_asks(delivery),
                        _ => false,
                    };
                    owed.retain(stays);
                }
                // The last answer of a run also ends its waiting.
                prop_assert!(owed.is_subset(&after), "{input:?} lost {owed:?}, left {after:?}");
            }
            gone.extend(ids(&before).difference(&after).cloned());
            prop_assert!(gone.is_disjoint(&after), "{:?} came back", gone.intersection(&after));
            journal = next;
        }
    }

    #[test]
    fn entries_have_ids_of_their_own_and_the_last_is_the_only_final_one(
        (asked, inputs) in any_story(),
    ) {
        let (journal, records) = story::journal_of(asked, inputs);
        let entries: Vec<_> = records.iter().flat_map(|record| &record.entries).collect();
        // A repeated epoch is a driver's mistake, not the machine's.
        let named: Vec<_> = entries.iter().filter(|e| !e.id.to_string().starts_with("resumed.")).collect();
        let ids: BTreeSet<_> = named.iter().map(|entry| &entry.id).collect();
        prop_assert_eq!(ids.len(), named.len());
        let ends = |event: &Event| matches!(event, Event::RunEnded(_));
        let finals = entries.iter().filter(|entry| ends(&entry.event)).count();
        // A task's end is seen in its run.
        let ended = journal.run().status().has_ended() && !journal.run().is_child();
        prop_assert_eq!(finals, usize::from(ended));
        if finals == 1 {
            prop_assert!(entries.last().is_some_and(|entry| ends(&entry.event)));
        }
    }

    #[test]
    fn folding_what_was_recorded_gives_what_was_decided(
        (asked, inputs) in any_story(),
    ) {
        let (journal, records) = story::journal_of(asked, inputs);
        let text = records.iter().map(|r| serde_json::to_string(r).unwrap());
        let read: Vec<Record> =
            text.map(|text| serde_json::from_str(&text).unwrap()).collect();
        prop_assert_eq!(&read, &records);
        prop_assert_eq!(Journal::fold(&read).unwrap(), journal);
    }

    #[test]
    fn nothing_is_forgotten_by_summing_up(
        (asked, inputs) in any_story(),
    ) {
        let (mut journal, _) = Journal::open(asked, 1, story::write(0), 0);
        for input in inputs {
            let before = journal.run().conversation().clone();
            let Some((next, _)) = journal.decide_record(vec![input], 1, story::write(1), 100) else {
                continue;
            };
            journal = next;
            let after = journal.run().conversation();
            prop_assert!(turns(&before) <= turns(after), "{before:?} became {after:?}");
            prop_assert!(exchanges(&before) == exchanges(after));
            let known = |conversation: &Conversation| {
                let all = CompactionRange { exchanges: 0, items: conversation.items.len() };
                BTreeSet::from_iter(conversation.files_in_range(all))
            };
            prop_assert!(known(&before).is_subset(&known(after)));
            prop_assert!(before.last_text().is_empty() || !after.last_text().is_empty());
        }
    }

    #[test]
    fn a_repeated_message_changes_nothing(
        (asked, inputs) in any_story(),
    ) {
        let (once, _) = story::journal_of(asked.clone(), inputs.clone());
        let again = |input: &Input| {
            // A second `Resumed` is a second crash.
            let copies = if matches!(input, Input::Resumed { .. }) { 1 } else { 2 };
            vec![input.clone(); copies]
        };
        let (twice, _) = story::journal_of(asked, inputs.iter().flat_map(again).collect());
        prop_assert_eq!(twice.run().due(), once.run().due());
        prop_assert_eq!(twice.run().conversation(), once.run().conversation());
        prop_assert_eq!(twice.run().spending(), once.run().spending());
    }
}
