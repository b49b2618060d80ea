//! The texts of the demo model, in the language of the question.

mod document;
mod plan;
mod web;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::growth::{GrowthTable, RegionGrowth};
use super::sheet::{Sheet, SheetError};

/// The maximum number of lines listed by number; above, only the first is listed.
const LISTED_LINES: usize = 5;

/// The maximum number of regions in a chart.
const CHART_LINES: usize = 6;

/// The language of the demo model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DemoLanguage {
    English,
    Chinese,
}

use DemoLanguage::{Chinese, English};

impl DemoLanguage {
    pub(super) fn greeting(self) -> &'static str {
        match self {
            English => "Hello! Ask me how much the regions in a CSV file grew.",
            Chinese => "你好！你可以问我 CSV 文件中各地区的增长情况。",
        }
    }

    pub(super) fn verdict_reason(self, is_chosen: bool) -> &'static str {
        match (self, is_chosen) {
            (English, true) => "It answers the whole question, with figures from the file.",
            (English, false) => "It agrees with the chosen answer and adds nothing.",
            (Chinese, true) => "它完整地回答了问题，数据来自文件。",
            (Chinese, false) => "它与选中的回答一致，没有增加内容。",
        }
    }

    pub(super) fn reading_notice(self, file: &str) -> String {
        match self {
            English => format!("First I read {file} to see what the figures are."),
            Chinese => format!("我先读取 {file}，看看其中的数据。"),
        }
    }

    pub(super) fn reading_on_notice(self, file: &str) -> String {
        match self {
            English => format!("{file} is longer than that, so I read its next part."),
            Chinese => format!("{file} 还没有读完，我继续读取下一段。"),
        }
    }

    pub(super) fn calling_notice(self, tool: &str) -> String {
        match self {
            English => format!("I call {tool}, as the question says."),
            Chinese => format!("我按问题所说调用 {tool}。"),
        }
    }

    pub(super) fn tool_answer(self, result: &str) -> String {
        match self {
            English => format!("The tool answers: {result}"),
            Chinese => format!("工具的回答：{result}"),
        }
    }

    pub(super) fn writing_notice(self, report: &str) -> String {
        match self {
            English => format!("I work out how much each region grew and write it to {report}."),
            Chinese => format!("我计算各地区的增长，并把结果写入 {report}。"),
        }
    }

    pub(super) fn drawing_notice(self, file: &str) -> String {
        match self {
            English => format!("I draw the sales of {file}, a line for each region."),
            Chinese => format!("我把 {file} 中的销售额画成图，每个地区一条线。"),
        }
    }

    pub(super) fn chart_title(self) -> &'static str {
        match self {
            English => "Sales by region and year",
            Chinese => "各地区历年销售额",
        }
    }

    pub(super) fn chart_name(self) -> &'static str {
        match self {
            English => "sales-by-region.png",
            Chinese => "各地区销售额.png",
        }
    }

    pub(super) fn drawn_chart(self, printed: &str) -> String {
        match self {
            English => format!("The chart is {}. Its figures:\n\n{printed}", self.chart_name()),
            Chinese => format!("图表是 {}，数据如下：\n\n{printed}", self.chart_name()),
        }
    }

    pub(super) fn file_description(self) -> String {
        match self {
            English => "Growth by region",
            Chinese => "各地区销售增长",
        }
        .to_owned()
    }

    pub(super) fn no_file_tool(self) -> String {
        match self {
            English => "I cannot read files here, so I cannot say which region grew fastest.",
            Chinese => "我在这里无法读取文件，因此不能判断哪个地区增长最快。",
        }
        .to_owned()
    }

    pub(super) fn no_file(self) -> String {
        match self {
            English => {
                "There is no CSV file to read. Add one with the columns region, year, sales."
            }
            Chinese => "没有可读取的 CSV 文件。请添加一个包含 region、year、sales 列的文件。",
        }
        .to_owned()
    }

    pub(super) fn not_completed(self) -> String {
        match self {
            English => "The work was not completed.",
            Chinese => "这项工作没有完成。",
        }
        .to_owned()
    }

    pub(super) fn unreadable_file(self, file: &str, why: &str) -> String {
        match self {
            English => format!("I could not read {file}: {why}"),
            Chinese => format!("我无法读取 {file}：{why}"),
        }
    }

    pub(super) fn incomplete_file(self, file: &str) -> String {
        match self {
            English => format!("I could not read all of {file}, so I compute nothing from it."),
            Chinese => format!("{file} 未能完整读取，因此我不作计算。"),
        }
    }

    pub(super) fn unusable_file(self, file: &str, why: &SheetError) -> String {
        let why = match (self, why) {
            (English, SheetError::Columns(missing)) => {
                format!("{file} lacks the columns {}", self.join_names(missing))
            }
            (Chinese, SheetError::Columns(missing)) => {
                format!("{file} 缺少列 {}", self.join_names(missing))
            }
            (English, SheetError::Rows) => format!("{file} has no row that can be read"),
            (Chinese, SheetError::Rows) => format!("{file} 中没有可以读取的行"),
        };
        match self {
            English => format!("I cannot say which region grew fastest: {why}."),
            Chinese => format!("我无法判断哪个地区增长最快：{why}。"),
        }
    }

    /// Returns the answer. `written` is the file tool's error if the report could not be written.
    pub(super) fn answer_text(
        self,
        growth: &GrowthTable,
        sheet: &Sheet,
        report: &str,
        outcome: Result<(), &str>,
    ) -> String {
        let regions = growth.regions.len();
        let table = match (self, outcome) {
            (English, Ok(())) => format!("All {regions} regions are in {report}."),
            (Chinese, Ok(())) => format!("全部 {regions} 个地区的表格见 {report}。"),
            (English, Err(why)) => format!("{report} could not be written: {why}"),
            (Chinese, Err(why)) => format!("{report} 无法写入：{why}"),
        };
        let mut sentences = vec![self.fastest_sentence(growth), table];
        sentences.extend(self.gap_sentences(growth, sheet));
        self.join_sentences(&sentences)
    }

    /// Returns the report in Markdown.
    pub(super) fn report_text(self, file: &str, growth: &GrowthTable, sheet: &Sheet) -> String {
        let title = self.report_title();
        let chart = self.chart_block(file, growth, sheet).unwrap_or_default();
        let header = format!("| {} |", self.table_headers().join(" | "));
        let rows = growth.regions.iter().map(|region| self.table_row(region));
        let rows = rows.collect::<Vec<_>>().join("\n");
        let notes = self.join_sentences(&self.basis_sentences(file, growth, sheet));
        let fastest = self.fastest_sentence(growth);
        let rule = "| --- | ---: | ---: | ---: | ---: | ---: |";
        format!("# {title}\n\n{fastest}\n\n{chart}{header}\n{rule}\n{rows}\n\n{notes}\n")
    }

    fn report_title(self) -> &'static str {
        match self {
            English => "Growth of sales by region",
            Chinese => "各地区销售增长",
        }
    }

    /// Returns the sales over the years as a fenced block `chart`; `None` for a single year.
    fn chart_block(self, file: &str, growth: &GrowthTable, sheet: &Sheet) -> Option<String> {
        let years: BTreeSet<i64> = sheet.rows.iter().map(|row| row.year).collect();
        let series = growth.regions.iter().take(CHART_LINES).map(|region| {
            let sales = |year: &i64| {
                let mut rows = sheet.rows.iter();
                let row = rows.find(|row| row.region == region.name && row.year == *year)?;
                let digits = row.sales_text.replace([',', ' ', '_'], "");
                Some(digits.parse().map_or_else(|_| json!(row.sales), Value::Number))
            };
            json!({"name": region.name, "values": years.iter().map(sales).collect::<Vec<_>>()})
        });
        let labels: Vec<String> = years.iter().map(i64::to_string).collect();
        let chart = json!({"type": "line", "title": self.chart_title(), "labels": labels,
            "series": series.collect::<Vec<_>>(), "source": file});
        (years.len() > 1).then(|| format!("```chart\n{chart}\n```\n\n"))
    }

    fn table_row(self, region: &RegionGrowth) -> String {
        format!("| {} |", self.cells(region).map(|cell| escape_cell(&cell)).join(" | "))
    }

    fn fastest_sentence(self, growth: &GrowthTable) -> String {
        let Some((percent, regions)) = growth.fastest_regions() else {
            return match self {
                English => "No region's growth can be worked out from the file.",
                Chinese => "根据该文件无法计算任何地区的增长。",
            }
            .to_owned();
        };
        let names: Vec<&str> = regions.iter().map(|region| region.name.as_str()).collect();
        let names = self.join_names(&names);
        let by = self.format_percent(percent.abs());
        let years = match (self, regions.as_slice()) {
            (English, [region]) => format!(" from {} to {}", region.first.0, region.last.0),
            (Chinese, [region]) => format!("从 {} 年到 {} 年", region.first.0, region.last.0),
            (_, _) => String::new(),
        };
        match self {
            English if percent > 0.0 => format!("{names} grew fastest, by {by}{years}."),
            English if percent < 0.0 => {
                format!("No region grew; {names} shrank least, by {by}{years}.")
            }
            English => format!("No region grew; {names} stayed the same{years}."),
            Chinese if percent > 0.0 => format!("{names}增长最快，{years}增长了 {by}。"),
            Chinese if percent < 0.0 => {
                format!("没有地区增长；{names}降幅最小，{years}下降了 {by}。")
            }
            Chinese => format!("没有地区增长；{names}{years}持平。"),
        }
    }

    /// Returns sentences about missing figures.
    fn gap_sentences(self, growth: &GrowthTable, sheet: &Sheet) -> Vec<String> {
        let mut gaps = Vec::new();
        if !sheet.unreadable.is_empty() {
            let lines = self.line_list(&sheet.unreadable);
            gaps.push(match self {
                English => format!("Not readable and left out: {lines}."),
                Chinese => format!("无法读取、未计入：{lines}。"),
            });
        }
        if !sheet.repeated.is_empty() {
            let lines = self.line_list(&sheet.repeated);
            gaps.push(match self {
                English => format!("Repeating a region and year and left out: {lines}."),
                Chinese => format!("地区和年份重复、未计入：{lines}。"),
            });
        }
        let unknown = growth.unknown_regions();
        if !unknown.is_empty() {
            let names = self.join_names(&unknown);
            gaps.push(match self {
                English => format!("Without two years that start above zero: {names}."),
                Chinese => format!("没有两个年份的数据或起始值不大于零：{names}。"),
            });
        }
        gaps
    }

    fn line_list(self, numbers: &[usize]) -> String {
        let texts: Vec<String> = numbers.iter().map(usize::to_string).collect();
        let line_numbers: Vec<&str> = texts.iter().map(String::as_str).collect();
        match (self, line_numbers.as_slice()) {
            (English, [line]) => format!("line {line}"),
            (Chinese, [line]) => format!("第 {line} 行"),
            (English, lines) if lines.len() <= LISTED_LINES => {
                format!("lines {}", self.join_names(lines))
            }
            (Chinese, lines) if lines.len() <= LISTED_LINES => {
                format!("第 {} 行", self.join_names(lines))
            }
            (English, lines) => format!(
                "{} lines, the first of them line {}",
                lines.len(),
                lines.first().unwrap_or(&"")
            ),
            (Chinese, lines) => {
                format!("共 {} 行，其中第一个是第 {} 行", lines.len(), lines.first().unwrap_or(&""))
            }
        }
    }

    /// Formats one decimal, without a minus before zero.
    fn format_percent(self, percent: f64) -> String {
        let rounded_percent = (percent * 10.0).round() / 10.0 + 0.0;
        match self {
            English => format!("{rounded_percent:.1} %"),
            Chinese => format!("{rounded_percent:.1}%"),
        }
    }

    fn join_names(self, names: &[&str]) -> String {
        match (self, names) {
            (English, [start @ .., before, last]) => {
                let before: String =
                    start.iter().map(|name| format!("{name}, ")).collect::<String>() + before;
                format!("{before} and {last}")
            }
            (English | Chinese, names) => names.join("、"),
        }
    }

    fn join_sentences(self, sentences: &[String]) -> String {
        sentences.join(match self {
            English => " ",
            Chinese => "",
        })
    }
}

fn escape_cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}
