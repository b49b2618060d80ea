//! Ids are read back as they were written, and whatever is read is written as it was.

use djinn_core::id::{
    CallId, CallName, EntryId, EntryName, FileName, HumanRequestId, LocalName, MessageId,
    MessageName, Path, RequestName, RunId, Scoped, StepId, TaskId,
};
use proptest::prelude::*;

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![1..20_u32, 1..=u32::MAX]
}

fn task() -> impl Strategy<Value = TaskId> {
    (number(), number()).prop_map(|(step, attempt)| TaskId::of(step, attempt))
}

/// A way of up to three levels, of tasks and calls: there is room for one more.
fn path() -> impl Strategy<Value = Path> {
    let segment = prop_oneof![
        task().prop_map(|task| task.to_string()),
        (number(), number()).prop_map(|(turn, index)| format!("t{turn}.c{index}")),
        number().prop_map(|number| format!("review.{number}")),
        number().prop_map(|index| format!("before.c{index}")),
        (number(), number()).prop_map(|(turn, index)| format!("t{turn}.before.c{index}")),
    ];
    let segments = proptest::collection::vec(segment, 0..=3);
    segments.prop_map(|segments| segments.join(".").parse().unwrap())
}

fn message() -> impl Strategy<Value = MessageName> {
    prop_oneof![
        number().prop_map(MessageName::Turn),
        number().prop_map(MessageName::Compaction),
        Just(MessageName::Summary),
        (2..=u32::MAX).prop_map(MessageName::NextSummary),
        Just(MessageName::Employees),
    ]
}

fn call() -> impl Strategy<Value = CallName> {
    (message(), number()).prop_map(|(message, index)| CallName { message, index })
}

fn request() -> impl Strategy<Value = RequestName> {
    prop_oneof![
        number().prop_map(RequestName::Budget),
        Just(RequestName::Budgets),
        Just(RequestName::Result),
        task().prop_map(RequestName::Task),
        number().prop_map(|step| RequestName::Step(StepId(step))),
        Just(RequestName::Steps),
        message().prop_map(RequestName::Message),
        (message(), number()).prop_map(|(name, count)| RequestName::ModelInterrupt(name, count)),
        call().prop_map(RequestName::Call),
        (call(), number()).prop_map(|(name, count)| RequestName::CallInterrupt(name, count)),
    ]
}

fn entry() -> impl Strategy<Value = EntryName> {
    let label = "[A-Za-z0-9_:.-]{1,20}";
    prop_oneof![
        Just(EntryName::Start),
        Just(EntryName::End),
        Just(EntryName::Step),
        Just(EntryName::Reviewed),
        message().prop_map(EntryName::Rejected),
        any::<u64>().prop_map(EntryName::Resumed),
        label.prop_map(EntryName::File),
        label.prop_map(EntryName::UserMessage),
        label.prop_map(EntryName::PlanEdit),
        message().prop_map(EntryName::Message),
        (message(), number()).prop_map(|(name, count)| EntryName::Reset(name, count)),
        (message(), number()).prop_map(|(name, count)| EntryName::ModelChange(name, count)),
        message().prop_map(EntryName::MessagePlan),
        call().prop_map(EntryName::Call),
        call().prop_map(EntryName::CallResult),
        call().prop_map(EntryName::CallPlan),
        request().prop_map(EntryName::Requested),
        request().prop_map(EntryName::Resolved),
        number().prop_map(|step| EntryName::StepPlan(StepId(step))),
    ]
}

/// An id is read back from its text and from JSON, in a run and in a task of it.
fn comes_back<N>(path: Path, name: N) -> Result<(), TestCaseError>
where
    N: LocalName + Clone + PartialEq + std::fmt::Debug,
{
    let id = Scoped::at(path, name);
    let text = id.to_string();
    prop_assert_eq!(&Scoped::new(&text).unwrap(), &id, "{}", &text);
    let json = serde_json::to_string(&id).unwrap();
    prop_assert_eq!(&json, &format!("\"{text}\""));
    prop_assert_eq!(&serde_json::from_str::<Scoped<N>>(&json).unwrap(), &id);
    let outer = id.below(&Path::to(TaskId::of(2, 1)));
    prop_assert_eq!(outer.to_string(), format!("s2.1.{text}"));
    prop_assert_eq!(Scoped::new(outer.to_string()).unwrap(), outer);
    Ok(())
}

/// What is read is written as it was, character by character.
fn is_canonical<N: LocalName>(text: &str) -> Result<(), TestCaseError> {
    if let Ok(id) = Scoped::<N>::new(text) {
        prop_assert_eq!(id.to_string(), text);
    }
    Ok(())
}

proptest! {
    #[test]
    fn messages_and_calls_are_read_back(path in path(), message in message(), call in call()) {
        comes_back(path.clone(), message)?;
        comes_back(path, call)?;
    }

    #[test]
    fn tasks_are_read_back(task in task()) {
        prop_assert_eq!(TaskId::new(task.to_string()).unwrap(), task);
    }

    #[test]
    fn requests_are_read_back_and_have_a_group(path in path(), name in request()) {
        comes_back(path.clone(), name.clone())?;
        let id = HumanRequestId::at(path, name);
        let group = id.group();
        prop_assert_eq!(&HumanRequestId::new(group.to_string()).unwrap(), &group);
        let is_prefix = id == group || id.to_string().starts_with(&format!("{group}."));
        prop_assert!(is_prefix, "{} of {}", group, id);
        let (task, other) = (TaskId::of(2, 1), TaskId::of(2, 2));
        let outer = id.clone().below(&Path::to(task.clone()));
        prop_assert_eq!(outer.within_child(&task.into()), Some(id));
        prop_assert_eq!(outer.within_child(&other.into()), None);
    }

    #[test]
    fn entries_are_read_back(path in path(), name in entry()) {
        comes_back(path, name)?;
    }

    #[test]
    fn whatever_is_read_is_written_as_it_was(
        text in "((s|t|c|steps|budget|again|summary|compact|result|plan|reset|start|x|/)?[0-9+]{0,3}\\.?){1,9}",
    ) {
        is_canonical::<MessageName>(&text)?;
        is_canonical::<CallName>(&text)?;
        is_canonical::<RequestName>(&text)?;
        is_canonical::<EntryName>(&text)?;
        if let Ok(task) = TaskId::new(&text) {
            prop_assert_eq!(&task.to_string(), &text);
        }
    }
}

#[test]
fn nothing_that_could_be_a_path_of_a_store_is_an_id() {
    for bad in ["t1/c1", "../t1", "s1.1/t1.c1", "t1\\c1", "steps/s1"] {
        assert!(HumanRequestId::new(bad).is_err(), "{bad}");
        assert!(EntryId::new(bad).is_err(), "{bad}");
        assert!(CallId::new(bad).is_err(), "{bad}");
        assert!(FileName::new(bad).is_err() || !bad.contains('/'), "{bad}");
    }
}

#[test]
fn ids_we_make_are_read_back_and_others_are_refused() {
    assert!(MessageId::new("t12").is_ok() && MessageId::new("summary").is_ok());
    assert!(CallId::new("t12.c3").is_ok());
    assert_eq!(TaskId::new("s3.1"), Ok(TaskId::of(3, 1)));
    let compaction = MessageId::for_turn(7).to_compaction().unwrap();
    assert_eq!(MessageId::new("t7.compact"), Ok(compaction));
    assert_eq!(MessageId::new("employees"), Ok(MessageId::employees()));
    for bad in ["", "t0", "t", "t-1", "t+1", "t01", "x1", "t1.c1", "summary.compact", "s1.t1"] {
        assert!(MessageId::new(bad).is_err(), "{bad}");
    }
    for bad in ["t1", "t1.c0", "t1.c", "c1", "t1.c1.c1x", ".t1.c1", "t1..c1", "t1/c1"] {
        assert!(CallId::new(bad).is_err(), "{bad}");
    }
    for bad in ["", "t1/c1", "budget.", "budget.0", "s1.1/result", "steps.1", "t1.again", "x"] {
        assert!(HumanRequestId::new(bad).is_err(), "{bad}");
    }
    assert!(serde_json::from_str::<RunId>("\"run_zz\"").is_err());
}
