//! Questions over the demo tables and the sample file, answered by a query.

use serde_json::json;

use super::analysis::GROWTH;
use super::question::without_attached;
use crate::request::{MessageRole, RecordedRequest};
use crate::response::ScriptedResponse;

const RUN_SQL: &str = "run_sql";

/// The call before the first turn, whose result follows the question as a message of the user.
const FIND_TABLES: &str = "find_tables";

/// A known question: words of which each is in the text, what the model says, and the query.
struct DataQuestion {
    words: &'static [&'static str],
    say: &'static str,
    sql: &'static str,
}

const QUESTIONS: [DataQuestion; 6] = [
    DataQuestion {
        words: &["2024", "销量", "趋势"],
        say: "按月汇总“销量”，时间为 2024 年。",
        sql: "SELECT date_trunc('month', \"下单日期\")::DATE AS \"月份\", sum(\"销量\") AS \"销量\"\n\
              FROM \"sales_view\"\n\
              WHERE \"下单日期\" >= DATE '2024-01-01' AND \"下单日期\" < DATE '2025-01-01'\n\
              GROUP BY 1 ORDER BY 1",
    },
    DataQuestion {
        words: &["采购成本", "前十"],
        say: "按“商品名称”汇总“采购成本”，取最高的十个。",
        sql: "SELECT \"商品名称\", sum(\"采购成本\") AS \"成本合计\"\n\
              FROM \"sales_view\"\n\
              GROUP BY 1 ORDER BY 2 DESC LIMIT 10",
    },
    DataQuestion {
        words: &["销售额", "占比"],
        say: "按“地区”汇总“销售额”，作为整体的各部分。",
        sql: "SELECT \"地区\", sum(\"销售额\") AS \"销售额合计\"\n\
              FROM \"sales_view\"\n\
              GROUP BY 1",
    },
    DataQuestion {
        words: &["sales", "region"],
        say: "I sum up `sales` for each `region`.",
        sql: "SELECT \"region\", sum(\"sales\") AS \"total sales\"\n\
              FROM \"sales_data\"\n\
              GROUP BY 1 ORDER BY 2 DESC",
    },
    DataQuestion {
        words: &["region", "grew"],
        say: "I compare `sales` of the first and the last `year` of each `region`.",
        sql: GROWTH,
    },
    // What a model might do that gives in to the user.
    DataQuestion {
        words: &["drop table orders"],
        say: "I am asked to drop `orders`.",
        sql: "DROP TABLE orders",
    },
];

/// Responds to an agent that can query tables. A call that failed is told as it is.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    if !request.offers_tool(RUN_SQL) {
        return None;
    }
    if let Some(result) = request.results_for(RUN_SQL).last() {
        return Some(ScriptedResponse::default().reply(result.text.trim()));
    }
    let texts = request.messages().iter().rev();
    let mut questions = texts
        .filter(|message| message.role == MessageRole::User && !message.text.contains(FIND_TABLES));
    let question = without_attached(&questions.next()?.text).trim();
    let lower = question.to_lowercase();
    let known =
        QUESTIONS.iter().find(|known| known.words.iter().all(|word| lower.contains(word)))?;
    let queries = json!({"queries": [{"question": question, "sql": known.sql}]});
    Some(ScriptedResponse::default().say(known.say).call(RUN_SQL, queries))
}
