//! Answers that are kept as files before the run above receives them.

use super::PLAN_FILE;
use crate::agent::FILE_NAME_ARGUMENT;
use crate::effect::AnswerFile;
use crate::id::FileName;
use crate::input::{ChildSpec, RunSpec};

/// Returns the file name of a run's answer, if its agent's answer is a file: the caller's choice, or a name
/// that no other run would choose.
#[must_use]
pub fn answer_file_name(spec: &RunSpec) -> Option<FileName> {
    let is_file = spec.agent()?.writes_answer();
    find_file_name(spec.child.as_ref()?).filter(|_| is_file)
}

/// Returns the file for an answer: if the agent's answer is a file, or too long for the run above.
pub(super) fn find_answer_file(spec: &RunSpec, answer: &str) -> Option<AnswerFile> {
    let child = spec.child.as_ref()?;
    let name = answer_file_name(spec);
    let max_chars = spec.settings.max_result_chars as usize;
    let is_long = child.keeps_answer && answer.chars().nth(max_chars).is_some();
    (name.is_some() || is_long).then(|| AnswerFile { name, text: answer.to_owned() })
}

fn find_file_name(child: &ChildSpec) -> Option<FileName> {
    let argument = child.arguments.get(FILE_NAME_ARGUMENT).and_then(|name| name.as_str());
    let file_name = argument.and_then(|name| FileName::new(name.trim()).ok());
    let agent = child.agent.as_ref().map_or("answer", |agent| agent.name.as_str());
    let own = || FileName::new(format!("{agent}-{}.md", child.path())).ok();
    file_name.filter(|name| name.as_str() != PLAN_FILE).or_else(own)
}
