//! Analyses of the demo tables and of the sample file: queries, then an answer from their rows.

use serde_json::{Value, json};

use super::analysis_report::{make_report, report_step};
use super::parts::REPORT_AGENT;
use super::plan::{PLANNING, can_name, finish_plan};
use super::question::question_text;
use super::step::YOUR_STEP;
use crate::request::{MessageRole, RecordedRequest};
use crate::response::ScriptedResponse;

const RUN_SQL: &str = "run_sql";
/// The tool that only the agent for analyses has besides [`RUN_SQL`].
const PYTHON: &str = "python";
const ANALYSIS_AGENT: &str = "data_analysis";
/// The call before the agent's first turn, whose result follows the task as a message of the user.
const FIND_TABLES: &str = "find_tables";

/// A known task.
struct KnownAnalysis {
    /// Words in lower case of which each is in the text.
    words: &'static [&'static str],
    step: &'static str,
    title: &'static str,
    /// The planner's words before its plan, and at its end.
    notices: [&'static str; 2],
    /// The agent's words before its queries.
    say: &'static str,
    queries: &'static [KnownQuery],
}

/// A query, and a sentence about its first row with `{0}`, `{1}`, … for its cells.
struct KnownQuery {
    question: &'static str,
    sql: &'static str,
    finding: &'static str,
}

/// A result as the model sees it: our prompt `tool/query_results`.
struct ShownResult<'a> {
    label: &'a str,
    table: Vec<&'a str>,
}

const ANALYSES: [KnownAnalysis; 3] = [
    KnownAnalysis {
        words: &["销售数据", "综合分析"],
        step: "分析: 对销售数据进行综合分析",
        title: "销售数据综合分析",
        notices: ["我请数据分析师查询销售明细，并写出分析。", "分析已完成。"],
        say: "我按年份、地区、商品和月份考察“销售额”，并用“采购成本”计算利润。",
        queries: &[
            KnownQuery {
                question: "每年的销售额和利润",
                sql: "SELECT year(\"下单日期\") AS \"年份\", sum(\"销售额\") AS \"销售额（欧元）\",\n\
                      \x20 sum(\"销售额\" - \"采购成本\") AS \"利润（欧元）\"\n\
                      FROM \"sales_view\" GROUP BY 1 ORDER BY 1 DESC",
                finding: "{0} 年的销售额为 {1} 欧元，利润为 {2} 欧元",
            },
            KnownQuery {
                question: "各地区的销售额和占比",
                sql: "SELECT \"地区\", sum(\"销售额\") AS \"销售额（欧元）\",\n\
                      \x20 round(100 * sum(\"销售额\") / sum(sum(\"销售额\")) OVER (), 2) AS \"占比（%）\"\n\
                      FROM \"sales_view\" GROUP BY 1 ORDER BY 2 DESC",
                finding: "{0} 地区的销售额最高，为 {1} 欧元，占 {2}%",
            },
            KnownQuery {
                question: "销售额最高的五种商品",
                sql: "SELECT \"商品名称\", sum(\"销售额\") AS \"销售额（欧元）\"\n\
                      FROM \"sales_view\" GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
                finding: "销售额最高的商品是 {0}，为 {1} 欧元",
            },
            KnownQuery {
                question: "销量最高的三个月",
                sql: "SELECT date_trunc('month', \"下单日期\")::DATE AS \"月份\", sum(\"销量\") AS \"销量（件）\"\n\
                      FROM \"sales_view\" GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
                finding: "销量最高的月份从 {0} 开始，共 {1} 件",
            },
        ],
    },
    KnownAnalysis {
        words: &["产品", "销售表现"],
        step: "分析: 分析产品的销售表现",
        title: "产品销售表现",
        notices: ["我请数据分析师比较各商品的销量、销售额和利润率。", "分析已完成。"],
        say: "我按“商品名称”汇总“销量”和“销售额”，并计算利润率。",
        queries: &[
            KnownQuery {
                question: "各商品的销量和销售额",
                sql: "SELECT \"商品名称\", sum(\"销量\") AS \"销量（件）\", sum(\"销售额\") AS \"销售额（欧元）\"\n\
                      FROM \"sales_view\" GROUP BY 1 ORDER BY 3 DESC LIMIT 5",
                finding: "{0} 的销售额最高：售出 {1} 件，共 {2} 欧元",
            },
            KnownQuery {
                question: "利润率最高的五种商品",
                sql: "SELECT \"商品名称\",\n\
                      \x20 round(100 * sum(\"销售额\" - \"采购成本\") / nullif(sum(\"销售额\"), 0), 2) AS \"利润率（%）\"\n\
                      FROM \"sales_view\" GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
                finding: "{0} 的利润率最高，为 {1}%",
            },
            KnownQuery {
                question: "销售额最低的三种商品",
                sql: "SELECT \"商品名称\", sum(\"销售额\") AS \"销售额（欧元）\"\n\
                      FROM \"sales_view\" GROUP BY 1 ORDER BY 2 LIMIT 3",
                finding: "{0} 的销售额最低，为 {1} 欧元",
            },
        ],
    },
    KnownAnalysis {
        words: &["analys", "sales"],
        step: "Analysis: analyse the sales by region and year",
        title: "Analysis of the sales",
        notices: [
            "I have the sales analysed with queries, by region and year.",
            "The analysis is done.",
        ],
        say: "I sum up `sales` by `year` and by `region`, and compare the first year with the last.",
        queries: &[
            KnownQuery {
                question: "Sales of each year",
                sql: "SELECT \"year\", sum(\"sales\") AS \"total sales\"\n\
                      FROM \"sales\" GROUP BY 1 ORDER BY 1 DESC",
                finding: "The newest year, {0}, has sales of {1}",
            },
            KnownQuery {
                question: "Sales and share of each region",
                sql: "SELECT \"region\", sum(\"sales\") AS \"total sales\",\n\
                      \x20 round(100 * sum(\"sales\") / sum(sum(\"sales\")) OVER (), 2) AS \"share in %\"\n\
                      FROM \"sales\" GROUP BY 1 ORDER BY 2 DESC",
                finding: "{0} sells most: {1}, or {2}% of all sales",
            },
            KnownQuery {
                question: "Growth of each region from its first to its last year",
                sql: GROWTH,
                finding: "{0} grew fastest: from {1} to {2}, by {3}%",
            },
        ],
    },
];

/// The growth of each region of the sample file, the fastest first.
pub(super) const GROWTH: &str = "\
SELECT \"region\", arg_min(\"sales\", \"year\") AS \"first sales\", arg_max(\"sales\", \"year\") AS \"last sales\",
  round(100.0 * arg_max(\"sales\", \"year\") / arg_min(\"sales\", \"year\") - 100, 2) AS \"growth in %\"
FROM \"sales\" GROUP BY 1 ORDER BY 4 DESC";

/// Responds to a run that can have tables analysed, to its planner, and to the agent that does it.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    if request.offers_tool(RUN_SQL) && request.offers_tool(PYTHON) {
        return analyse_tables(request);
    }
    let question = question_text(request);
    let known = KnownAnalysis::find(question)?;
    let report = report_step(question, known.title);
    if request.offers_tool(PLANNING) {
        return plan_analysis(known, report.as_deref(), request);
    }
    if let Some(step) = report.as_deref().filter(|step| is_step(step, request)) {
        return make_report(step, known.title, request);
    }
    if let Some(result) = request.results_for(ANALYSIS_AGENT).last() {
        let report = report.and_then(|step| make_report(&step, known.title, request));
        let is_written = request.results_for(REPORT_AGENT).next().is_some();
        return report
            .filter(|_| !is_written)
            .or_else(|| Some(ScriptedResponse::default().reply(result.text.trim())));
    }
    let call = json!({"task": known.step});
    let response = ScriptedResponse::default().say(known.notices[0]);
    request.offers_tool(ANALYSIS_AGENT).then(|| response.call(ANALYSIS_AGENT, call))
}

impl KnownAnalysis {
    fn find(text: &str) -> Option<&'static Self> {
        let text = text.to_lowercase();
        ANALYSES.iter().find(|known| known.words.iter().all(|word| text.contains(word)))
    }
}

/// Returns true if the request is from the agent of this step.
fn is_step(step: &str, request: &RecordedRequest) -> bool {
    request.messages().iter().any(|message| {
        let steps = YOUR_STEP.iter().filter_map(|mark| message.text.rsplit_once(mark));
        steps.into_iter().any(|(_, text)| text.trim() == step)
    })
}

/// Creates a plan of the analysis, for the agent if the planner can name it, and of the report step.
fn plan_analysis(
    known: &KnownAnalysis,
    report: Option<&str>,
    request: &RecordedRequest,
) -> Option<ScriptedResponse> {
    let [plan_notice, finish_notice] = known.notices;
    if request.answered_calls().any(|(call, _)| call.tool == PLANNING) {
        return Some(finish_plan(finish_notice.to_owned()));
    }
    if !can_name(ANALYSIS_AGENT, request) {
        return None;
    }
    let mut steps = vec![known.step];
    let mut depends_on = vec![json!([])];
    let mut agents = vec![ANALYSIS_AGENT];
    if let Some(report) = report {
        steps.push(report);
        depends_on.push(json!([1]));
        agents.push("");
    }
    let plan = json!({
        "command": "create", "title": known.title, "steps": steps, "depends_on": depends_on, "agents": agents,
    });
    Some(ScriptedResponse::default().say(plan_notice).call(PLANNING, plan))
}

/// Runs all queries in one call, then answers from their rows. A call that failed is told as it is.
fn analyse_tables(request: &RecordedRequest) -> Option<ScriptedResponse> {
    let texts = request.messages().iter().filter(|message| message.role == MessageRole::User);
    let mut tasks = texts.filter(|message| !message.text.contains(FIND_TABLES));
    let known = tasks.find_map(|message| KnownAnalysis::find(&message.text))?;
    let Some(result) = request.results_for(RUN_SQL).last() else {
        let query = |query: &KnownQuery| json!({"question": query.question, "sql": query.sql});
        let queries: Vec<Value> = known.queries.iter().map(query).collect();
        let response = ScriptedResponse::default().say(known.say);
        return Some(response.call(RUN_SQL, json!({"queries": queries})));
    };
    let results = read_results(&result.text);
    if results.len() != known.queries.len() {
        return Some(ScriptedResponse::default().reply(result.text.trim()));
    }
    let mut findings = Vec::new();
    let mut tables = Vec::new();
    for (query, ShownResult { label, table }) in known.queries.iter().zip(results) {
        let end = if query.finding.is_ascii() { "." } else { "。" };
        findings.push(format!("- {} [{label}]{end}", fill_cells(query.finding, &table)));
        tables.push(format!("## {} [{label}]\n\n{}", query.question, table.join("\n")));
    }
    let text = format!("# {}\n\n{}\n\n{}", known.title, findings.join("\n"), tables.join("\n\n"));
    Some(ScriptedResponse::default().reply(text))
}

/// Returns the results with their labels: `**[q1] question**`, followed by a table.
fn read_results(text: &str) -> Vec<ShownResult<'_>> {
    let parts = text.split("**[").skip(1);
    let results = parts.filter_map(|part| {
        let (label, rest) = part.split_once(']')?;
        let table = rest.lines().filter(|line| line.starts_with('|')).collect();
        label.starts_with('q').then_some(ShownResult { label, table })
    });
    results.collect()
}

/// Fills a sentence with the cells of a table's first row.
fn fill_cells(sentence: &str, table: &[&str]) -> String {
    let cells = table.get(2).map(|row| row.trim_matches('|').split(" | ")).into_iter().flatten();
    let cells = cells.enumerate();
    cells.fold(sentence.to_owned(), |text, (place, cell)| {
        text.replace(&format!("{{{place}}}"), cell.trim())
    })
}
