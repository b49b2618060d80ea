//! Answers that are kept as files before the run above receives them.

use super::PLAN_FILE;
use crate::agent::FILE_NAME_ARGUMENT;
use crate::effect::AnswerFile;
use crate::id::FileName;
use crate::input::RunSpec;

/// Returns the file name of a run's answer, if its agent's answer is a file: the caller's choice, or a name
/// that no other run would choose.
#[must_use]
pub fn answer_file_name(spec: &RunSpec) -> Option<FileName> {
    let agent = spec.agent().filter(|agent| agent.writes_answer())?;
    let argument = spec.arguments.get(FILE_NAME_ARGUMENT).and_then(|name| name.as_str());
    let file_name = argument.and_then(|name| FileName::new(name.trim()).ok());
    let own = || FileName::new(spec.own_file_name(&agent.name)).ok();
    file_name.filter(|name| name.as_str() != PLAN_FILE).or_else(own)
}

/// Returns the file for an answer: if the agent's answer is a file, or too long for the run above.
pub(super) fn find_answer_file(spec: &RunSpec, answer: &str) -> Option<AnswerFile> {
    let name = answer_file_name(spec);
    let max_chars = spec.settings.max_result_chars as usize;
    let keeps_answer = spec.child.as_ref().is_some_and(|child| child.keeps_answer);
    let is_long = keeps_answer && answer.chars().nth(max_chars).is_some();
    (name.is_some() || is_long).then(|| AnswerFile { name, text: answer.to_owned() })
}
