//! What agents come to, as JoyAgent's page shows it.

use djinn_core::id::Path;
use djinn_core::input::Input;
use serde_json::json;

use crate::killed::{Agent, DOCUMENT, Happening, Story, frames};
use crate::page::{Chip, Page};
use crate::projection::{Protocol, connection, page, show};
use crate::story;

/// The page of a run that called an agent, for a client that saw all of it being written.
fn page_of(agent: Agent) -> Page {
    let story = Story::new(agent, &[], false);
    let happenings: Vec<Happening> = story.happenings(&[7; 20]);
    let frames = frames(Protocol::Ui, &story, &happenings, None);
    let text: String = frames.iter().map(|frame| format!("data:{}\n\n", frame.data)).collect();
    let page = page(Protocol::Ui, false, &text).unwrap();
    page.check_unlocked();
    page
}

fn chips_of(page: &Page, kind: &str) -> Vec<Chip> {
    let chips = page.lanes().into_iter().flat_map(|lane| lane.chips);
    chips.filter(|chip| chip.kind == kind).collect()
}

fn thoughts(page: &Page) -> Vec<String> {
    chips_of(page, "tool_thought").into_iter().map(|chip| chip.text).collect()
}

#[test]
fn result_of_code_is_an_analysis_named_after_its_task() {
    let page = page_of(Agent::Code);
    let [analysis] = &chips_of(&page, "data_analysis")[..] else { panic!("{page:#?}") };
    assert_eq!(analysis.text, "Sum it up.");
    assert!(analysis.panel.starts_with("It is 4, see ![sum](http"), "{}", analysis.panel);
    // The agent's words are shown nowhere else in the chat, so they stay.
    let said = [
        "I have it done.",
        "I add.",
        "So it is 4.",
        "It is 4, see ![sum](sum.png).",
        "The answer is below.",
    ];
    assert_eq!(thoughts(&page), said);
}

#[test]
fn document_of_a_writer_opens_beside_the_chat_and_its_other_words_are_thoughts() {
    let page = page_of(Agent::Writer);
    let [document] = &chips_of(&page, "markdown")[..] else { panic!("{page:#?}") };
    assert_eq!(
        (document.panel.as_str(), &document.files[..]),
        (DOCUMENT, &["sales.md".to_owned()][..])
    );
    assert_eq!(thoughts(&page), ["I have it done.", "I read first.", "The answer is below."]);
}

#[test]
fn report_that_cannot_be_rendered_is_shown_as_far_as_it_was_written() {
    let page = page_of(Agent::BrokenReport);
    let [report] = &chips_of(&page, "html")[..] else { panic!("{page:#?}") };
    assert!(report.panel.starts_with("<h1>Sales</h1>") && report.files.is_empty(), "{report:?}");
    let [failed] = &chips_of(&page, "tool_result")[..] else { panic!("{page:#?}") };
    assert_eq!(failed.text, "report_tool");
}

#[test]
fn step_of_a_writer_has_a_document_and_one_line() {
    let plan =
        json!({"command": "create", "title": "t", "steps": ["Write: it"], "agents": ["writer"]});
    let asked = story::asked_to_plan("Why?");
    let (journal, _) = story::journal_of(asked.clone(), vec![story::planned("t1", &plan)]);
    let child = djinn_core::id::ChildId::for_step(1, 1);
    let spec = journal.run().child_spec(&child).expect("a step is owed");
    let (written, did) =
        story::journal_of(spec.with_agent(Agent::Writer.spec()), Agent::Writer.inputs());
    let ended = written.run().child_result().expect("it has ended").clone();
    let below: Vec<_> = did[1..].iter().flat_map(|record| record.entries.clone()).collect();
    let path = Path::to(child);
    let below: Vec<_> = below.into_iter().map(|entry| entry.below(&path)).collect();
    let inputs = vec![
        story::planned("t1", &plan),
        Input::ChildEnded(Box::new(ended)),
        story::planned("t2", &json!({"command": "finish"})),
        story::replied("summary", "It is written.", &[]),
    ];
    let (_, records) = story::journal_of(asked, inputs);
    let mut client = connection(Protocol::Ui, true);
    let shown = records.iter().flat_map(|record| {
        let ends = record.inputs.iter().any(|input| matches!(input, Input::ChildEnded(_)));
        show(&mut client, record, if ends { &below } else { &[] })
    });
    let page = page(Protocol::Ui, true, &shown.collect::<String>()).unwrap();
    page.check_unlocked();
    let [document] = &chips_of(&page, "markdown")[..] else { panic!("{page:#?}") };
    assert_eq!(
        (document.panel.as_str(), &document.files[..]),
        (DOCUMENT, &["sales.md".to_owned()][..])
    );
    let [summary] = &chips_of(&page, "task_summary")[..] else { panic!("{page:#?}") };
    assert_eq!(summary.text, "The document is ready: sales.md");
    assert!(thoughts(&page).iter().all(|text| !text.contains("East grew")), "{page:#?}");
}
