//! The story that most tests tell: a file is handed in, a question is asked of it, and the answer is
//! a file.

use djinn_scripted::{Rule, ScriptedModel};
use serde_json::json;

pub(crate) const QUESTION: &str = "Which region grew fastest? Write the answer to growth.md";
pub(crate) const SALES: &str = include_str!("../../../examples/sales.csv");

/// The model reads the sales, writes growth.md, answers, and sums up.
pub(crate) fn script(model: &ScriptedModel, question: &str) -> Rule {
    model
        .on(question)
        .say("I read the sales first.")
        .call("file_tool", json!({"command": "get", "filename": "sales.csv"}))
        .usage(900, 30, 0)
        .then()
        .say("East grew fastest; I write that down.")
        .call(
            "file_tool",
            json!({
                "command": "upload", "filename": "growth.md", "description": "Growth by region",
                "content": "# Growth\n\nEast: +55.9 %\n",
            }),
        )
        .usage(1_400, 60, 800)
        .then()
        .reply("East grew fastest: 55.9 % from 2021 to 2024.")
        .usage(1_500, 20, 1_400)
}
