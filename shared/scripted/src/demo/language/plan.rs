//! The texts of the demo model as a planner and as the agent of a step.

use super::{Chinese, DemoLanguage, English};
use crate::demo::growth::RegionGrowth;
use crate::demo::sheet::Sheet;
use crate::demo::step::DemoStep;

impl DemoLanguage {
    pub(in crate::demo) fn plan_notice(self) -> String {
        match self {
            English => {
                "First I have the regions found; then each of them gets an agent of its own."
            }
            Chinese => "我先让人找出有哪些地区，然后为每个地区安排一个智能体。",
        }
        .to_owned()
    }

    pub(in crate::demo) fn plan_title(self) -> String {
        match self {
            English => "Compare the regions",
            Chinese => "比较各地区",
        }
        .to_owned()
    }

    pub(in crate::demo) fn split_notice(self, regions: usize) -> String {
        match self {
            English => format!(
                "There are {regions} regions. Their reports do not depend on each other, so they \
                 are written at the same time; the comparison waits for them."
            ),
            Chinese => format!(
                "共有 {regions} 个地区。它们的报告互不依赖，可以同时写；比较要等它们全部完成。"
            ),
        }
    }

    pub(in crate::demo) fn finish_notice(self) -> String {
        match self {
            English => "Every region has its report and they are compared: that is all.",
            Chinese => "每个地区都有了报告，也已比较完毕：全部完成。",
        }
        .to_owned()
    }

    /// Returns the role that reads and writes files for a step.
    pub(in crate::demo) fn employee_role(self, step: Option<&DemoStep>) -> &'static str {
        match (self, step) {
            (English, Some(DemoStep::Find { .. })) => "Data scout",
            (Chinese, Some(DemoStep::Find { .. })) => "数据侦察员",
            (English, Some(DemoStep::Report { .. })) => "Regional reporter",
            (Chinese, Some(DemoStep::Report { .. })) => "区域报告员",
            (English, Some(DemoStep::Compare { .. })) => "Market analyst",
            (Chinese, Some(DemoStep::Compare { .. })) => "市场分析师",
            (English, None) => "Records clerk",
            (Chinese, None) => "数据记录员",
        }
    }

    /// Returns the regions, one per line: the planner reads the lines.
    pub(in crate::demo) fn region_list(self, file: &str, regions: &[&str]) -> String {
        let items: Vec<String> = regions.iter().map(|region| format!("- {region}")).collect();
        let list = items.join("\n");
        match self {
            English => format!("{file} has these regions:\n\n{list}"),
            Chinese => format!("{file} 中有以下地区：\n\n{list}"),
        }
    }

    pub(in crate::demo) fn no_such_region(self, file: &str, region: &str) -> String {
        match self {
            English => format!("{file} has no region {region}."),
            Chinese => format!("{file} 中没有地区 {region}。"),
        }
    }

    pub(in crate::demo) fn region_writing_notice(self, region: &str, report: &str) -> String {
        match self {
            English => format!("I write what the figures say of {region} to {report}."),
            Chinese => format!("我把{region}的数据写入 {report}。"),
        }
    }

    pub(in crate::demo) fn region_description(self, region: &str) -> String {
        match self {
            English => format!("Sales of {region}"),
            Chinese => format!("{region}的销售"),
        }
    }

    /// Returns the result of a region's step.
    pub(in crate::demo) fn region_answer(
        self,
        region: &RegionGrowth,
        report: &str,
        outcome: Result<(), &str>,
    ) -> String {
        let place = match (self, outcome) {
            (English, Ok(())) => format!("The report is {report}."),
            (Chinese, Ok(())) => format!("报告见 {report}。"),
            (English, Err(why)) => format!("{report} could not be written: {why}"),
            (Chinese, Err(why)) => format!("{report} 无法写入：{why}"),
        };
        self.join_sentences(&[self.region_sentence(region), place])
    }

    /// Returns the report on a region, in Markdown.
    pub(in crate::demo) fn region_report(
        self,
        region: &RegionGrowth,
        sheet: &Sheet,
        file: &str,
    ) -> String {
        let name = &region.name;
        let (title, header, basis) = match self {
            English => (
                format!("# Sales of {name}"),
                "| Year | Sales |",
                format!("All figures are from {file}."),
            ),
            Chinese => {
                (format!("# {name}的销售"), "| 年份 | 销售额 |", format!("数据均来自 {file}。"))
            }
        };
        let mut rows: Vec<_> = sheet.rows.iter().filter(|row| row.region == *name).collect();
        rows.sort_by_key(|row| row.year);
        let rows: Vec<String> = rows
            .iter()
            .map(|row| format!("| {} | {} |", row.year, super::escape_cell(&row.sales_text)))
            .collect();
        let rows = rows.join("\n");
        let change = self.region_sentence(region);
        format!("{title}\n\n{change}\n\n{header}\n| --- | ---: |\n{rows}\n\n{basis}\n")
    }

    fn region_sentence(self, region: &RegionGrowth) -> String {
        let RegionGrowth { name, first, last, percent } = region;
        let Some(percent) = *percent else {
            return match self {
                English => format!("{name}'s growth cannot be worked out from the file."),
                Chinese => format!("根据该文件无法计算{name}的增长。"),
            };
        };
        let by = self.format_percent(percent.abs());
        let ((from, start), (to, end)) = (first, last);
        match self {
            English if percent > 0.0 => {
                format!("{name} grew by {by}, from {start} in {from} to {end} in {to}.")
            }
            English if percent < 0.0 => {
                format!("{name} shrank by {by}, from {start} in {from} to {end} in {to}.")
            }
            English => format!("{name} stayed at {start} from {from} to {to}."),
            Chinese if percent > 0.0 => {
                format!("{name}增长了 {by}，从 {from} 年的 {start} 到 {to} 年的 {end}。")
            }
            Chinese if percent < 0.0 => {
                format!("{name}下降了 {by}，从 {from} 年的 {start} 到 {to} 年的 {end}。")
            }
            Chinese => format!("{name}从 {from} 年到 {to} 年持平，为 {start}。"),
        }
    }
}
