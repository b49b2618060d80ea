//! The model of the offline demo. It reads a CSV file with `file_tool`, computes the growth of each region,
//! writes a report, and names the fastest region. As a planner it requests a report for each region. Charts
//! are drawn with code, followed by a page and slides. Questions about heat pumps are answered by a search of
//! a site, and questions over the demo tables by a query or an analysis. A call named in a question is made. Every reply is computed from the request alone.

mod analysis;
mod analysis_report;
mod code;
mod count;
mod data;
mod document;
mod employees;
mod growth;
mod language;
mod named_call;
mod parts;
mod plan;
mod question;
mod reading;
mod route;
mod sheet;
mod step;
mod summary;
mod verdict;
mod web;

use serde_json::json;

use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;
use growth::GrowthTable;
use language::DemoLanguage;
use question::GrowthQuestion;
use reading::FileReading;
use sheet::Sheet;

const FILE_TOOL: &str = "file_tool";

/// The characters per delta: a few words, like a real model.
const DELTA_CHARS: usize = 16;

const NO_SCRIPT: &str = "this is the scripted demo model; set OPENAI_API_KEY to use a real one (it \
                         only knows questions about the growth of regions in a CSV file with the \
                         columns region,year,sales, draws their sales, says what pages say about heat pumps, and makes a call that a question names: TOOL \
                         {\"ARGUMENT\": …})";

pub(crate) fn respond(request: &RecordedRequest) -> ScriptedResponse {
    let Some(request) = &request.without_frames() else {
        return ScriptedResponse::default().error(
            400,
            "scripted_demo",
            Some("no_script"),
            NO_SCRIPT,
        );
    };
    let response = summary::respond(request)
        .or_else(|| verdict::respond(request))
        .or_else(|| analysis::respond(request))
        .or_else(|| data::respond(request))
        .or_else(|| route::respond(request))
        .or_else(|| employees::respond(request))
        .or_else(|| document::respond(request))
        .or_else(|| code::respond(request))
        .or_else(|| parts::respond(request))
        .or_else(|| web::respond(request))
        .or_else(|| plan::respond(request))
        .or_else(|| step::respond(request))
        .or_else(|| count::respond(request))
        .or_else(|| named_call::respond(request))
        .or_else(|| {
            GrowthQuestion::of(request).map(|question| answer_question(&question, request))
        });
    let Some(response) = response else {
        return ScriptedResponse::default().error(
            400,
            "scripted_demo",
            Some("no_script"),
            NO_SCRIPT,
        );
    };
    let output = estimate_tokens(response.text_bytes());
    response.usage(estimate_tokens(request.body_bytes()), output, 0).delta_chars(DELTA_CHARS)
}

/// Returns the next step of answering a question: read the whole file, write the report, then answer.
fn answer_question(question: &GrowthQuestion, request: &RecordedRequest) -> ScriptedResponse {
    let Some(file) = question.file.as_deref() else {
        return ScriptedResponse::default().reply(question.language.no_file());
    };
    match read_whole(question.language, file, request) {
        Ok(sheet) => write_report(question.language, &question.report, request, file, &sheet),
        Err(response) => *response,
    }
}

/// Returns the sheet of a completely read file, or the next response before.
fn read_whole(
    words: DemoLanguage,
    file: &str,
    request: &RecordedRequest,
) -> Result<Sheet, Box<ScriptedResponse>> {
    let reply = |text| Box::new(ScriptedResponse::default().reply(text));
    if !request.offers_tool(FILE_TOOL) {
        return Err(reply(words.no_file_tool()));
    }
    let read_call = |say, offset: Option<u64>| {
        let mut arguments = json!({"command": "get", "filename": file});
        if let (Some(offset), Some(arguments)) = (offset, arguments.as_object_mut()) {
            arguments.insert("offset".to_owned(), offset.into());
        }
        Err(Box::new(ScriptedResponse::default().say(say).call(FILE_TOOL, arguments)))
    };
    match FileReading::of(file, request) {
        FileReading::Unread => read_call(words.reading_notice(file), None),
        FileReading::Partial { next } => read_call(words.reading_on_notice(file), Some(next)),
        FileReading::Incomplete => Err(reply(words.incomplete_file(file))),
        FileReading::Failed(why) => Err(reply(words.unreadable_file(file, &why))),
        FileReading::Complete(text) => {
            Sheet::parse(&text).map_err(|unusable| reply(words.unusable_file(file, &unusable)))
        }
    }
}

/// Writes the table of all regions, then answers.
fn write_report(
    words: DemoLanguage,
    name: &str,
    request: &RecordedRequest,
    file: &str,
    sheet: &Sheet,
) -> ScriptedResponse {
    let growth = GrowthTable::of(sheet);
    // Our prompt `agent/instructions`, for a reply that becomes a file.
    let is_writer = ["is written to the file `", "会原样写入文件 `"]
        .iter()
        .any(|words| request.system().contains(words));
    if is_writer {
        return ScriptedResponse::default().reply(words.report_text(file, &growth, sheet));
    }
    match find_upload(request) {
        None => ScriptedResponse::default().say(words.writing_notice(name)).call(
            FILE_TOOL,
            json!({
                "command": "upload",
                "filename": name,
                "description": words.file_description(),
                "content": words.report_text(file, &growth, sheet),
            }),
        ),
        Some((name, outcome)) => {
            ScriptedResponse::default().reply(words.answer_text(&growth, sheet, name, outcome))
        }
    }
}

/// Returns the name of the file that was written, and the result: our prompt `tool/file_written`, or a problem.
/// An agent writes one file, whose name its user may have changed in an approval.
fn find_upload(request: &RecordedRequest) -> Option<(&str, Result<(), &str>)> {
    let uploads = request.answered_calls().filter(|(call, _)| {
        call.tool == FILE_TOOL && call.arguments.get("command").is_some_and(|it| it == "upload")
    });
    let (call, result) = uploads.last()?;
    let name = call.arguments.get("filename")?.as_str()?;
    let is_written = [" is written", " 已写入"].iter().any(|words| result.text.contains(words));
    Some((name, if is_written { Ok(()) } else { Err(problem_text(&result.text)) }))
}

/// Returns the problem of a failed call, without the tool name: our prompt `outcome/error`, or another.
fn problem_text(result: &str) -> &str {
    let problem = ["file_tool failed: ", "file_tool 失败："]
        .iter()
        .find_map(|prefix| result.strip_prefix(prefix))
        .unwrap_or(result);
    problem.lines().next().unwrap_or_default()
}

/// Estimates one token for four bytes.
fn estimate_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}
