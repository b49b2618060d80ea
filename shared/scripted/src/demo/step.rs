//! The steps of the demo's plan: written by the planner, and parsed by the agents of the steps.

use serde_json::json;

use super::growth::{GrowthTable, RegionGrowth};
use super::language::DemoLanguage;
use super::sheet::Sheet;
use super::{FILE_TOOL, find_upload, read_whole, write_report};
use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;

/// The text before a task's own words: our prompt `task/question` in both languages.
pub(super) const YOUR_STEP: [&str; 2] = ["Your step:\n\n", "你的步骤：\n\n"];

/// The words about an answer that is a JSON value.
const JSON_ANSWER: [&str; 2] =
    ["is one JSON value that matches this schema", "符合以下 schema 的 JSON 值"];

/// A step of the plan, in the form of plans: `stage: details`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DemoStep {
    /// Find the regions in a file.
    Find { file: String },
    /// Write a report on one region.
    Report { region: String, file: String },
    /// Compare all regions in a report.
    Compare { file: String, report: String },
}

impl DemoStep {
    pub(super) fn label(&self, words: DemoLanguage) -> String {
        match (self, words) {
            (Self::Find { file }, DemoLanguage::English) => {
                format!("Overview: find the regions in {file}")
            }
            (Self::Find { file }, DemoLanguage::Chinese) => format!("概览: 找出 {file} 中的地区"),
            (Self::Report { region, file }, DemoLanguage::English) => {
                format!("{region}: write a report on this region from {file}")
            }
            (Self::Report { region, file }, DemoLanguage::Chinese) => {
                format!("{region}: 根据 {file} 写出该地区的报告")
            }
            (Self::Compare { file, report }, DemoLanguage::English) => {
                format!("Comparison: compare all regions of {file} in {report}")
            }
            (Self::Compare { file, report }, DemoLanguage::Chinese) => {
                format!("比较: 把 {file} 的全部地区写入 {report}")
            }
        }
    }

    /// Parses a step and its language.
    pub(super) fn parse(text: &str) -> Option<(Self, DemoLanguage)> {
        [DemoLanguage::English, DemoLanguage::Chinese].into_iter().find_map(|words| {
            let between = |before: &str, middle: &str, after: &str| {
                let inner = text.strip_prefix(before)?.strip_suffix(after)?;
                let (first, second) = inner.rsplit_once(middle)?;
                Some((first.to_owned(), second.to_owned()))
            };
            let find = |before: &str, after: &str| {
                let file = text.strip_prefix(before)?.strip_suffix(after)?;
                Some(Self::Find { file: file.to_owned() })
            };
            let compare =
                |parts: (String, String)| Self::Compare { file: parts.0, report: parts.1 };
            let report = |parts: (String, String)| Self::Report { region: parts.0, file: parts.1 };
            let step = match words {
                DemoLanguage::English => find("Overview: find the regions in ", "")
                    .or_else(|| {
                        between("Comparison: compare all regions of ", " in ", "").map(compare)
                    })
                    .or_else(|| {
                        between("", ": write a report on this region from ", "").map(report)
                    }),
                DemoLanguage::Chinese => find("概览: 找出 ", " 中的地区")
                    .or_else(|| between("比较: 把 ", " 的全部地区写入 ", "").map(compare))
                    .or_else(|| between("", ": 根据 ", " 写出该地区的报告").map(report)),
            };
            Some((step?, words))
        })
    }

    /// Returns the step of the request's agent.
    fn of(request: &RecordedRequest) -> Option<(Self, DemoLanguage)> {
        request.messages().iter().find_map(|message| {
            YOUR_STEP.iter().find_map(|mark| {
                let (_, step) = message.text.rsplit_once(mark)?;
                Self::parse(step.trim())
            })
        })
    }
}

/// Returns the next reply of an agent that works on a demo step.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    let (step, words) = DemoStep::of(request)?;
    let (DemoStep::Find { file } | DemoStep::Report { file, .. } | DemoStep::Compare { file, .. }) =
        &step;
    let sheet = match read_whole(words, file, request) {
        Ok(sheet) => sheet,
        Err(response) => return Some(*response),
    };
    let growth = GrowthTable::of(&sheet);
    Some(match &step {
        DemoStep::Find { .. } if wants_json(request) => {
            let value = json!({"regions": growth.region_names()});
            ScriptedResponse::default().reply(value.to_string())
        }
        DemoStep::Find { .. } => {
            ScriptedResponse::default().reply(words.region_list(file, &growth.region_names()))
        }
        DemoStep::Compare { report: name, .. } => write_report(words, name, request, file, &sheet),
        DemoStep::Report { region, .. } => {
            match growth.regions.iter().find(|growth_row| growth_row.name == *region) {
                None => ScriptedResponse::default().reply(words.no_such_region(file, region)),
                Some(region) => report_region(words, request, region, &sheet, file),
            }
        }
    })
}

/// Returns true if the agent answers with a JSON value: our prompt `agent/instructions` in both languages.
fn wants_json(request: &RecordedRequest) -> bool {
    let system = request.system();
    JSON_ANSWER.iter().any(|words| system.contains(words))
}

/// Writes the report on a region, then summarizes it.
fn report_region(
    words: DemoLanguage,
    request: &RecordedRequest,
    region: &RegionGrowth,
    sheet: &Sheet,
    file: &str,
) -> ScriptedResponse {
    let name = report_file(&region.name);
    match find_upload(request) {
        None => {
            ScriptedResponse::default().say(words.region_writing_notice(&region.name, &name)).call(
                FILE_TOOL,
                json!({
                    "command": "upload",
                    "filename": name,
                    "description": words.region_description(&region.name),
                    "content": words.region_report(region, sheet, file),
                }),
            )
        }
        Some((name, outcome)) => {
            ScriptedResponse::default().reply(words.region_answer(region, name, outcome))
        }
    }
}

/// Returns the file name: `North` → `north.md`, `New York` → `new-york.md`.
fn report_file(region: &str) -> String {
    let plain_text: String =
        region.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    let words: Vec<String> = plain_text.split_whitespace().map(str::to_lowercase).collect();
    format!("{}.md", if words.is_empty() { "region".to_owned() } else { words.join("-") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_read_as_it_was_written() {
        let text = |text: &str| text.to_owned();
        let steps = [
            DemoStep::Find { file: text("sales.csv") },
            DemoStep::Report { region: text("New York: old"), file: text("sales 2.csv") },
            DemoStep::Report { region: text("华东"), file: text("各地区.csv") },
            DemoStep::Compare { file: text("sales.csv"), report: text("comparison.md") },
        ];
        for step in steps {
            for words in [DemoLanguage::English, DemoLanguage::Chinese] {
                assert_eq!(DemoStep::parse(&step.label(words)), Some((step.clone(), words)));
            }
        }
        assert_eq!(DemoStep::parse("Read the news"), None);
    }

    #[test]
    fn regions_give_their_names_to_files() {
        assert_eq!(report_file("New York (old)"), "new-york-old.md");
        assert_eq!(report_file("华东"), "华东.md");
        assert_eq!(report_file("!"), "region.md");
    }
}
