//! The texts of the demo model for searches.

use super::{Chinese, DemoLanguage, English};

impl DemoLanguage {
    /// Returns the queries of a round, counted from 0; `None` after the last round.
    pub(in crate::demo) fn round_queries(
        self,
        round: usize,
        task: &str,
    ) -> Option<[&'static str; 2]> {
        let is_about =
            |words: [&str; 2]| words.iter().any(|word| task.to_lowercase().contains(word));
        let about_money = is_about(["cost", "费用"]);
        match (self, round) {
            (English, 0) if about_money => Some(["heat pump cost", "heat pump running cost"]),
            (English, 0) => Some(["heat pump efficiency", "seasonal performance factor"]),
            (English, 1) => Some(["heat pump noise", "heat pump old radiators"]),
            (Chinese, 0) if about_money => Some(["热泵 费用", "热泵 电费"]),
            (Chinese, 0) => Some(["热泵 效率", "季节性能系数"]),
            (Chinese, 1) => Some(["热泵 噪声", "热泵 暖气片"]),
            (English | Chinese, _) => None,
        }
    }

    pub(in crate::demo) fn round_notice(self, round: usize) -> &'static str {
        match (self, round) {
            (English, 0) => "I search for the heart of the question first.",
            (English, _) => "Now what is missing.",
            (Chinese, 0) => "先搜索问题的核心。",
            (Chinese, _) => "再搜索还缺的部分。",
        }
    }

    pub(in crate::demo) fn found_notice(self, pages: usize) -> String {
        match self {
            English => format!("Of {pages} pages, these say:"),
            Chinese => format!("共读取 {pages} 个网页，其中说："),
        }
    }

    pub(in crate::demo) fn nothing_found(self) -> String {
        match self {
            English => "No page that says anything of it could be read.",
            Chinese => "没有读到与此有关的网页。",
        }
        .to_owned()
    }

    /// Returns the steps of a plan, searched in parallel.
    pub(in crate::demo) fn search_steps(self) -> [&'static str; 2] {
        match self {
            English => [
                "Search: how efficient heat pumps are, and what they need",
                "Search: what heat pumps cost to buy and to run",
            ],
            Chinese => ["搜索: 热泵的效率和条件", "搜索: 热泵的购置费用和运行费用"],
        }
    }

    pub(in crate::demo) fn search_plan_notice(self) -> &'static str {
        match self {
            English => "Both sides of it can be searched at once.",
            Chinese => "两方面可以同时搜索。",
        }
    }

    pub(in crate::demo) fn search_done(self) -> String {
        match self {
            English => {
                "Both sides were searched. The two files have what was found, with its sources."
            }
            Chinese => "两方面都已搜索，结果和来源见两个文件。",
        }
        .to_owned()
    }

    pub(in crate::demo) fn search_title(self) -> &'static str {
        match self {
            English => "What the pages say about heat pumps",
            Chinese => "网页对热泵的说法",
        }
    }
}
