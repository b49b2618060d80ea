//! The demo model answers from the request alone.

use djinn_scripted::{Script, ScriptedModel};
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatRequest, ToolResponse};
use serde_json::{Value, json};

use crate::agent::{Agent, Client, Prompts, tool};
use crate::client::{anthropic_question, ask, post};

const SALES: &str = include_str!("../../../../examples/sales.csv");

async fn demo() -> ScriptedModel {
    ScriptedModel::start_with(Script::demo()).await.unwrap()
}

#[tokio::test]
async fn it_reads_computes_writes_and_answers() {
    for kind in [AdapterKind::OpenAI, AdapterKind::Anthropic, AdapterKind::Ollama] {
        let server = demo().await;
        let mut agent = Agent::new(&server, kind, "en").with_file("sales.csv", SALES);
        let question = "Which region grew fastest? Write the figures to growth.md.";
        let summary = agent.run(question).await.unwrap();
        let answer =
            "East grew fastest, by 55.9 % from 2021 to 2024. All 3 regions are in growth.md.";
        assert_eq!(summary, format!("{answer}$$$growth.md"), "{kind}");
        let lines = [
            "says First I read sales.csv to see what the figures are.",
            "gets sales.csv from 0",
            "says I work out how much each region grew and write it to growth.md.",
            "uploads growth.md",
            &format!("says {answer}"),
        ];
        assert_eq!(agent.lines, lines, "{kind}");
        let report = "# Growth of sales by region\n\n\
            East grew fastest, by 55.9 % from 2021 to 2024.\n\n\
            ```chart\n\
            {\"type\":\"line\",\"title\":\"Sales by region and year\",\
            \"labels\":[\"2021\",\"2022\",\"2023\",\"2024\"],\"series\":[\
            {\"name\":\"East\",\"values\":[655100,742600,889300,1021400]},\
            {\"name\":\"South\",\"values\":[962300,1015400,1098700,1163900]},\
            {\"name\":\"North\",\"values\":[1284000,1317500,1342800,1391200]}],\
            \"source\":\"sales.csv\"}\n\
            ```\n\n\
            | Region | First year | Sales | Last year | Sales | Growth |\n\
            | --- | ---: | ---: | ---: | ---: | ---: |\n\
            | East | 2021 | 655,100 | 2024 | 1,021,400 | 55.9 % |\n\
            | South | 2021 | 962,300 | 2024 | 1,163,900 | 20.9 % |\n\
            | North | 2021 | 1,284,000 | 2024 | 1,391,200 | 8.3 % |\n\n\
            Growth is from each region's first to its last year in sales.csv.\n";
        assert_eq!(agent.files["growth.md"], report, "{kind}");
        server.assert_done();
    }
}

#[tokio::test]
async fn it_names_the_roles_of_a_tasks_tools() {
    for (language, question, step, roles) in [
        (
            "en",
            "Compare the regions in sales.csv.\n# The task\n$$",
            "North: write a report on this region from sales.csv",
            r#"{"file_tool":"Regional reporter","web_search":"Regional reporter"}"#,
        ),
        (
            "zh",
            "比较 sales.csv 中的各个地区",
            "比较: 把 sales.csv 的全部地区写入 对比.md",
            r#"{"file_tool":"市场分析师","web_search":"市场分析师"}"#,
        ),
        (
            "en",
            "Who grew fastest?",
            "Read the news",
            r#"{"file_tool":"Records clerk","web_search":"Records clerk"}"#,
        ),
    ] {
        let server = demo().await;
        let tool = |name: &str| json!({"name": name, "description": "does: this"});
        let values = json!({"query": question, "words": step,
            "tools": [tool("file_tool"), tool("web_search")]});
        let prompt = Prompts(language).render("task/employees", values);
        let request = ChatRequest::from_user(prompt);
        let reply = Client::new(&server, AdapterKind::OpenAI).ask(request).await.unwrap();
        assert_eq!(reply.text, format!("```json\n{roles}\n```"));
        server.assert_done();
    }
}

#[tokio::test]
async fn another_file_gives_another_table_in_chinese() {
    let server = demo().await;
    let csv = "Year,Sales,Region\n2019,\"1,000\",华东\n2023,\"1,100\",华东\n2020,50,华|南\n2022,75,华|南\n\
               2021,8,西北\n";
    let mut agent = Agent::new(&server, AdapterKind::OpenAI, "zh")
        .with_file("a.csv", SALES)
        .with_file("各地区.csv", csv);
    let summary = agent.run("根据各地区.csv，哪个地区增长最快？把表格写入增长表.md").await.unwrap();
    assert_eq!(
        summary,
        "华|南增长最快，从 2020 年到 2022 年增长了 50.0%。全部 3 个地区的表格见 增长表.md。\
         没有两个年份的数据或起始值不大于零：西北。$$$增长表.md"
    );
    assert_eq!(agent.lines[1], "gets 各地区.csv from 0");
    let rows = "| 华\\|南 | 2020 | 50 | 2022 | 75 | 50.0% |\n\
                | 华东 | 2019 | 1,000 | 2023 | 1,100 | 10.0% |\n\
                | 西北 | 2021 | 8 | 2021 | 8 | – |\n";
    assert!(agent.files["增长表.md"].contains(rows), "{}", agent.files["增长表.md"]);
    server.assert_done();
}

#[tokio::test]
async fn a_long_file_is_read_part_by_part() {
    // Parts that end in the middle of a line, and right after a line break that prompts trim off.
    for (part, language) in [(50, "en"), (34, "zh"), (101, "en")] {
        let server = demo().await;
        let mut agent =
            Agent::new(&server, AdapterKind::Anthropic, language).with_file("sales.csv", SALES);
        agent.part = part;
        let summary = agent.run("What about the growth of each region?").await.unwrap();
        assert!(summary.contains("East grew fastest, by 55.9 %"), "{part}: {summary}");
        let reads = agent.lines.iter().filter(|line| line.starts_with("gets")).count();
        assert_eq!(reads, SALES.chars().count().div_ceil(part));
        assert!(agent.files["growth.md"].contains("| South | 2021 | 962,300 | 2024 | 1,163,900 |"));
        server.assert_done();
    }
}

#[tokio::test]
async fn a_space_that_a_prompt_trims_off_is_no_line_break() {
    let server = demo().await;
    let csv = "region,year,sales\nNew York,2020,4\nNew York,2021,5\n";
    let mut agent = Agent::new(&server, AdapterKind::OpenAI, "en").with_file("a.csv", csv);
    agent.part = csv.find(' ').unwrap() + 1;
    let summary = agent.run("Which region grew fastest?").await.unwrap();
    assert!(summary.starts_with("New York grew fastest, by 25.0 % from"), "{summary}");
    server.assert_done();
}

#[tokio::test]
async fn it_says_what_it_cannot_read_or_compute() {
    let cases = [
        ("month,amount\n1,5", "sales.csv lacks the columns region, year and sales"),
        ("region,sales\nNorth,5", "sales.csv lacks the columns year"),
        ("region,year,sales\nNorth,soon,5", "sales.csv has no row that can be read"),
        ("", "sales.csv lacks the columns region, year and sales"),
    ];
    for (csv, answer) in cases {
        let server = demo().await;
        let mut agent = Agent::new(&server, AdapterKind::OpenAI, "en").with_file("sales.csv", csv);
        let answer = format!("I cannot say which region grew fastest: {answer}.");
        assert_eq!(agent.run("Which region grew fastest?").await.unwrap(), answer);
        assert!(!agent.files.contains_key("growth.md"));
    }
    let server = demo().await;
    let csv = "region,year,sales\nNorth,2020,100\nNorth,2021,n/a\nNorth,2022,90\nNorth,2022,95\n\
               Zero,2020,0\nZero,2021,4\n";
    let mut agent = Agent::new(&server, AdapterKind::OpenAI, "en").with_file("sales.csv", csv);
    assert_eq!(
        agent.run("Which region grew fastest?").await.unwrap(),
        "No region grew; North shrank least, by 10.0 % from 2020 to 2022. All 2 regions are in \
         growth.md. Not readable and left out: line 3. Repeating a region and year and left out: \
         line 5. Without two years that start above zero: Zero.$$$growth.md"
    );
    server.assert_done();
}

#[tokio::test]
async fn a_missing_file_is_said_to_be_missing() {
    let server = demo().await;
    let mut agent = Agent::new(&server, AdapterKind::OpenAI, "en").with_file("sales.csv", SALES);
    let summary = agent.run("Which region grew fastest in rents.csv?").await.unwrap();
    assert_eq!(
        summary,
        "I could not read rents.csv: There is no file named rents.csv. There are: sales.csv."
    );
    let mut agent = Agent::new(&server, AdapterKind::OpenAI, "zh");
    let summary = agent.run("哪个地区增长最快？").await.unwrap();
    assert_eq!(summary, "没有可读取的 CSV 文件。请添加一个包含 region、year、sales 列的文件。");
    server.assert_done();
}

#[tokio::test]
async fn it_does_not_claim_what_the_tool_refused() {
    let server = demo().await;
    let mut agent = Agent::new(&server, AdapterKind::OpenAI, "en").with_file("sales.csv", SALES);
    agent.read_only = true;
    let summary = agent.run("Which region grew fastest?").await.unwrap();
    let answer = "East grew fastest, by 55.9 % from 2021 to 2024. growth.md could not be written: \
                  The file was not written: ";
    assert!(summary.starts_with(answer) && !summary.contains("$$$"), "{summary}");
    server.assert_done();
}

#[tokio::test]
async fn report_is_written_once_under_the_name_that_the_user_changed() {
    let server = demo().await;
    for (language, question) in
        [("en", "Which region grew fastest?"), ("zh", "哪个地区增长最快？写入 growth.md")]
    {
        let mut agent =
            Agent::new(&server, AdapterKind::OpenAI, language).with_file("sales.csv", SALES);
        agent.renamed = Some("east-2024.md");
        let summary = agent.run(question).await.unwrap();
        assert!(summary.ends_with("$$$east-2024.md"), "{summary}");
        let uploads: Vec<_> =
            agent.lines.iter().filter(|line| line.starts_with("uploads ")).collect();
        assert_eq!(uploads, ["uploads east-2024.md"]);
        assert!(summary.matches("east-2024.md").count() == 2, "{summary}");
    }
    server.assert_done();
}

#[tokio::test]
async fn a_part_that_came_short_is_not_computed_with() {
    let server = demo().await;
    let mut agent = Agent::new(&server, AdapterKind::OpenAI, "en").with_file("sales.csv", SALES);
    agent.lost = 20;
    let summary = agent.run("Which region grew fastest?").await.unwrap();
    assert_eq!(summary, "I could not read all of sales.csv, so I compute nothing from it.");
    server.assert_done();
}

#[tokio::test]
async fn a_second_question_in_a_session_is_worked_on_anew() {
    let server = demo().await;
    let mut agent = Agent::new(&server, AdapterKind::OpenAI, "en").with_file("sales.csv", SALES);
    agent.history = vec![ChatMessage::user("哪个地区增长最快？"), ChatMessage::assistant("East.")];
    let summary = agent.run("And the growth of all, in all.md?").await.unwrap();
    assert!(summary.ends_with("All 3 regions are in all.md.$$$all.md"), "{summary}");
    server.assert_done();
}

#[tokio::test]
async fn it_makes_the_call_that_a_question_names() {
    let server = demo().await;
    let client = Client::new(&server, AdapterKind::OpenAI);
    let question = "How far? Try {} of\n`measure {\"from\": {\"city\": \"Bonn\"}} please`";
    let mut request = ChatRequest::new(vec![ChatMessage::user(question)])
        .with_tools(vec![tool("other"), tool("measure")]);
    let reply = client.ask(request.clone()).await.unwrap();
    assert_eq!(reply.text, "I call measure, as the question says.");
    let call = &reply.calls[0];
    let arguments = json!({"from": {"city": "Bonn"}});
    assert_eq!((call.fn_name.as_str(), &call.fn_arguments), ("measure", &arguments));
    let result = ToolResponse::new(call.call_id.clone(), "<untrusted>\n3 km\n</untrusted>");
    request = request.append_message(reply.calls.clone()).append_message(result);
    assert_eq!(client.ask(request).await.unwrap().text, "The tool answers: 3 km");
    // A tool that is not offered is not called.
    let request = ChatRequest::new(vec![ChatMessage::user(question)]);
    assert!(client.ask(request).await.is_err());
    server.assert_done();
}

#[tokio::test]
async fn a_question_without_a_script_is_refused() {
    let server = demo().await;
    let response = ask(&server, "Who wrote Faust?").await;
    assert_eq!(response.status(), 400);
    let body: Value = response.json().await.unwrap();
    let error = serde_json::json!({
        "message": "this is the scripted demo model; set OPENAI_API_KEY to use a real one (it only \
                    knows questions about the growth of regions in a CSV file with the columns \
                    region,year,sales, draws their sales, says what pages say about heat pumps, and makes a call that a question names: TOOL {\"ARGUMENT\": …})",
        "type": "scripted_demo",
        "code": "no_script",
    });
    assert_eq!(body, serde_json::json!({ "error": error }));
    let response = post(&server, "messages", &anthropic_question("Who wrote Faust?")).await;
    assert_eq!(response.status(), 400);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["error"], error);
    server.assert_done();
}

#[tokio::test]
async fn it_streams_in_several_deltas_and_counts_tokens() {
    let server = demo().await;
    let stream = ask(&server, "Which region grew fastest?").await.text().await.unwrap();
    assert!(crate::client::content(&stream).len() > 2, "{stream}");
    let usage = stream.lines().rev().find(|line| line.contains("prompt_tokens")).unwrap();
    let usage: Value = serde_json::from_str(usage.strip_prefix("data: ").unwrap()).unwrap();
    let sent = server.last_request().unwrap();
    let bytes = sent.json().to_string().len() as u64;
    assert_eq!(usage["usage"]["prompt_tokens"], bytes.div_ceil(4));
    assert!(usage["usage"]["completion_tokens"].as_u64().unwrap() > 10);
}
