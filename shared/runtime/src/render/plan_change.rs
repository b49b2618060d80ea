//! A user's changes to a plan, as a sentence for the planner.

use djinn_core::conversation::PlanChange;
use djinn_core::id::StepId;
use djinn_core::language::Language;
use djinn_core::plan::{Plan, Step};
use serde_json::json;

use crate::prompt::{self, Prompts};

/// Renders the changes by step id; the new text of the steps is in the plan. Returns `None` if the user
/// restored the original plan without a comment.
pub(super) fn plan_change_text(
    prompts: &Prompts,
    language: Language,
    change: &PlanChange,
) -> Option<String> {
    let PlanChange { before, after, comment } = change;
    let common_steps =
        || after.steps().iter().filter_map(|step| Some((before.step(step.id)?, step)));
    let pick = |differs: fn(&Step, &Step) -> bool| {
        name_steps(common_steps().filter(|(was, is)| differs(was, is)).map(|(_, is)| is.id))
    };
    let additions = name_missing(before, after);
    let removals = name_missing(after, before);
    let new_words = pick(|was, is| (&was.stage, &was.details) != (&is.stage, &is.details));
    let new_order = pick(|was, is| was.depends_on != is.depends_on);
    let new_title = if before.title == after.title { "" } else { after.title.as_str() };
    let all = [&additions, &removals, &new_words, &new_order].map(String::as_str);
    if all.into_iter().chain([new_title, comment]).all(str::is_empty) {
        return None;
    }
    let values = json!({
        "added": additions, "removed": removals, "reworded": new_words, "reordered": new_order,
        "retitled": new_title, "text": comment,
    });
    Some(prompts.render(language, prompt::NOTE_PLAN_EDITED, values))
}

/// Returns the ids of steps of `these` missing in `others`.
fn name_missing(others: &Plan, these: &Plan) -> String {
    let ids = these.steps().iter().map(|step| step.id);
    name_steps(ids.filter(|id| others.step(*id).is_none()))
}

fn name_steps(steps: impl Iterator<Item = StepId>) -> String {
    steps.map(|id| id.to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use djinn_core::plan::{StepEdit, StepStatus, StepText, parse_drafts};

    use super::*;

    fn plan() -> Plan {
        let steps = ["Find regions", "Compare", "Report"];
        let steps = steps.map(|text| StepText { stage: None, text: text.to_owned() });
        let drafts = parse_drafts(&steps, None).unwrap();
        Plan::create("Sales", &drafts, 10).unwrap()
    }

    fn edit(id: Option<u32>, details: &str, on: &[usize]) -> StepEdit {
        let id = id.map(StepId);
        let depends_on = on.iter().copied().collect();
        StepEdit { id, details: details.to_owned(), depends_on, ..StepEdit::default() }
    }

    fn told(language: Language, after: Plan, comment: &str) -> Option<String> {
        let change = PlanChange { before: plan(), after, comment: comment.to_owned() };
        plan_change_text(&Prompts::default(), language, &change)
    }

    #[test]
    fn every_kind_of_change_is_in_one_sentence() {
        let edits = [edit(Some(2), "Compare twice", &[]), edit(None, "Ask Anna", &[1])];
        let after = plan().with_edits("Sales of 2025", &edits, 10).unwrap();
        let en = told(Language::En, after.clone(), "Anna knows.");
        insta::assert_snapshot!(en.unwrap(), @r"
        The user changed the plan while its steps were at work: added s4; removed s1, s3; reworded s2; changed what comes before s2; changed the title; follow the changed plan. They say of it:

        Anna knows.
        ");
        insta::assert_snapshot!(
            told(Language::Zh, after, "").unwrap(),
            @"用户在步骤执行期间修改了计划：新增 s4；删除 s1, s3；改写 s2；调整 s2 之前的步骤；修改标题；请按修改后的计划执行。"
        );
    }

    #[test]
    fn how_far_the_steps_are_is_no_change_of_a_persons() {
        let mut after = plan();
        after.set_status(StepId(1), StepStatus::Completed, "done").unwrap();
        assert_eq!(told(Language::En, after, ""), None);
    }
}
