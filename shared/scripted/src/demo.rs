//! The model of the offline demo: it reads a CSV file through `file_tool`, works out how much each
//! region grew, writes a report, and says which grew fastest. As a planner it has a report written on
//! each region. Everything it says comes from the request it answers.

mod employees;
mod growth;
mod plan;
mod question;
mod reading;
mod sheet;
mod step;
mod summary;
mod words;

use serde_json::json;

use crate::request::Request;
use crate::response::Response;
use growth::Growth;
use question::Question;
use reading::Reading;
use sheet::Sheet;
use words::Words;

const FILE_TOOL: &str = "file_tool";

/// Characters per delta: a few words, as models stream them.
const DELTA_CHARS: usize = 16;

const NO_SCRIPT: &str = "this is the scripted demo model; set OPENAI_API_KEY to use a real one (it \
                         only knows questions about the growth of regions in a CSV file with the \
                         columns region,year,sales)";

pub(crate) fn respond(request: &Request) -> Response {
    let Some(request) = &request.without_frames() else {
        return Response::default().error(400, "scripted_demo", Some("no_script"), NO_SCRIPT);
    };
    let response = summary::respond(request)
        .or_else(|| employees::respond(request))
        .or_else(|| plan::respond(request))
        .or_else(|| step::respond(request))
        .or_else(|| Question::of(request).map(|question| work(&question, request)));
    let Some(response) = response else {
        return Response::default().error(400, "scripted_demo", Some("no_script"), NO_SCRIPT);
    };
    let output = tokens(response.said_bytes());
    response.usage(tokens(request.body_bytes()), output, 0).delta_chars(DELTA_CHARS)
}

/// The next step of answering a question: read the file, all of it, then write, then answer.
fn work(question: &Question, request: &Request) -> Response {
    let Some(file) = question.file.as_deref() else {
        return Response::default().reply(question.words.no_file());
    };
    match read_whole(question.words, file, request) {
        Ok(sheet) => report(question.words, &question.report, request, file, &sheet),
        Err(response) => *response,
    }
}

/// The sheet in a file once all of it was read, else what is to be done or said before.
fn read_whole(words: Words, file: &str, request: &Request) -> Result<Sheet, Box<Response>> {
    let reply = |text| Box::new(Response::default().reply(text));
    if !request.offers(FILE_TOOL) {
        return Err(reply(words.no_file_tool()));
    }
    let read = |say, offset: Option<u64>| {
        let mut arguments = json!({"command": "get", "filename": file});
        if let (Some(offset), Some(arguments)) = (offset, arguments.as_object_mut()) {
            arguments.insert("offset".to_owned(), offset.into());
        }
        Err(Box::new(Response::default().say(say).call(FILE_TOOL, arguments)))
    };
    match Reading::of(file, request) {
        Reading::Unread => read(words.reads(file), None),
        Reading::Partly { next } => read(words.reads_on(file), Some(next)),
        Reading::Incomplete => Err(reply(words.incomplete(file))),
        Reading::Failed(why) => Err(reply(words.unreadable(file, &why))),
        Reading::Whole(text) => {
            Sheet::parse(&text).map_err(|unusable| reply(words.unusable(file, &unusable)))
        }
    }
}

/// Writes the table of all regions, then answers with it.
fn report(words: Words, name: &str, request: &Request, file: &str, sheet: &Sheet) -> Response {
    let growth = Growth::of(sheet);
    match written(name, request) {
        None => Response::default().say(words.writes(name)).call(
            FILE_TOOL,
            json!({
                "command": "upload",
                "filename": name,
                "description": words.description(),
                "content": words.report(file, &growth, sheet),
            }),
        ),
        Some(written) => Response::default().reply(words.answer(&growth, sheet, name, written)),
    }
}

/// What came of writing a file, if that was tried: our prompt `tool/file_written`, or a problem.
fn written<'a>(name: &str, request: &'a Request) -> Option<Result<(), &'a str>> {
    let uploads = request.answered_calls().filter(|(call, _)| {
        call.tool == FILE_TOOL
            && call.arguments.get("command").is_some_and(|it| it == "upload")
            && call.arguments.get("filename").is_some_and(|it| it == name)
    });
    let text = uploads.map(|(_, result)| result.text.as_str()).last()?;
    let is_written = [" is written", " 已写入"].iter().any(|words| text.contains(words));
    Some(if is_written { Ok(()) } else { Err(problem(text)) })
}

/// What went wrong, without the name of the tool: our prompt `outcome/error`, or another.
fn problem(result: &str) -> &str {
    let problem = ["file_tool failed: ", "file_tool 失败："]
        .iter()
        .find_map(|prefix| result.strip_prefix(prefix))
        .unwrap_or(result);
    problem.lines().next().unwrap_or_default()
}

/// About four bytes are a token.
fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}
