//! The texts of the demo model for a question about a chart and documents.

use super::{Chinese, DemoLanguage, English};
use crate::demo::growth::{GrowthTable, RegionGrowth};
use crate::demo::parts::Part;
use crate::demo::sheet::Sheet;

/// The CSS of the page.
const STYLE: &str = "body{font-family:system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem;\
    color:#1d2939;line-height:1.5}table{border-collapse:collapse;width:100%}td,th{padding:.4rem .6rem;\
    border-bottom:1px solid #d0d5dd;text-align:right}td:first-child,th:first-child{text-align:left}\
    img{max-width:100%}";

impl DemoLanguage {
    /// Returns the step of a plan for a part.
    pub(in crate::demo) fn part_step(self, part: Part) -> &'static str {
        match (self, part) {
            (English, Part::Chart) => "Chart: draw the sales of each region over the years",
            (Chinese, Part::Chart) => "图表: 画出各地区历年的销售额",
            (English, Part::Report) => "Report: write a page with the chart and its figures",
            (Chinese, Part::Report) => "报告: 写一个带图表和数据的网页",
            (English, Part::Slides) => "Slides: make slides with the chart and its figures",
            (Chinese, Part::Slides) => "幻灯片: 制作带图表和数据的幻灯片",
        }
    }

    pub(in crate::demo) fn parts_notice(self) -> String {
        match self {
            English => "The chart comes first; what is written waits for it.",
            Chinese => "先画图表，文档等图表完成后再写。",
        }
        .to_owned()
    }

    pub(in crate::demo) fn parts_done(self) -> String {
        match self {
            English => "All parts are there.",
            Chinese => "各部分都已完成。",
        }
        .to_owned()
    }

    pub(in crate::demo) fn written_notice(self, name: &str) -> String {
        match self {
            English => format!("I wrote {name}."),
            Chinese => format!("已写好 {name}。"),
        }
    }

    /// Returns the task of the agent for a part, without the rest of the question.
    pub(in crate::demo) fn part_task(self, part: Part, question: &str) -> String {
        match (self, part) {
            (_, Part::Chart) => question.to_owned(),
            (English, Part::Report) => {
                "Write a page about the sales of each region, with the chart that is there."
                    .to_owned()
            }
            (Chinese, Part::Report) => "写一个关于各地区销售额的网页，使用已有的图表。".to_owned(),
            (English, Part::Slides) => {
                "Make slides about the sales of each region, with the chart that is there."
                    .to_owned()
            }
            (Chinese, Part::Slides) => "制作关于各地区销售额的幻灯片，使用已有的图表。".to_owned(),
        }
    }

    pub(in crate::demo) fn part_file(self, part: Part) -> &'static str {
        match (self, part) {
            (English, Part::Chart) | (Chinese, Part::Chart) => self.chart_name(),
            (English, Part::Report) => "sales-report.html",
            (Chinese, Part::Report) => "销售报告.html",
            (English, Part::Slides) => "sales-slides.pptx",
            (Chinese, Part::Slides) => "销售幻灯片.pptx",
        }
    }

    /// Returns the report as an HTML page.
    pub(in crate::demo) fn report_page(
        self,
        file: &str,
        growth: &GrowthTable,
        sheet: &Sheet,
        chart: Option<&str>,
    ) -> String {
        let title = self.report_title();
        let headers: String =
            self.table_headers().iter().map(|header| format!("<th>{header}</th>")).collect();
        let rows = growth.regions.iter().map(|region| {
            let cells = self.cells(region).map(|cell| format!("<td>{}</td>", escape_html(&cell)));
            format!("<tr>{}</tr>\n", cells.concat())
        });
        let rows: String = rows.collect();
        let figure = chart.map_or_else(String::new, |chart| {
            let alt = self.chart_title();
            format!("<figure><img src=\"{}\" alt=\"{alt}\"></figure>\n", escape_html(chart))
        });
        let fastest = escape_html(&self.fastest_sentence(growth));
        let notes = escape_html(&self.join_sentences(&self.basis_sentences(file, growth, sheet)));
        format!(
            "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             </head>\n<body>\n<h1>{title}</h1>\n<p>{fastest}</p>\n{figure}<table>\n<tr>{headers}</tr>\n{rows}</table>\n\
             <p>{notes}</p>\n</body>\n</html>\n"
        )
    }

    /// Returns the report as slides in Markdown.
    pub(in crate::demo) fn report_slides(
        self,
        file: &str,
        growth: &GrowthTable,
        sheet: &Sheet,
        chart: Option<&str>,
    ) -> String {
        let title = self.report_title();
        let fastest = self.fastest_sentence(growth);
        let table_title = self.file_description();
        let chart = chart.map_or_else(String::new, |chart| {
            let alt = self.chart_title();
            format!("![{alt}]({})\n\n## {table_title}\n\n", chart.replace(' ', "%20"))
        });
        let headers = self.table_headers().join(" | ");
        let rows: String =
            growth.regions.iter().map(|region| self.table_row(region) + "\n").collect();
        let notes = self.join_sentences(&self.basis_sentences(file, growth, sheet));
        format!(
            "# {title}\n\n## {fastest}\n\n{chart}| {headers} |\n| --- | ---: | ---: | ---: | ---: | ---: |\n\
             {rows}\nNotes: {notes}\n"
        )
    }

    pub(super) fn table_headers(self) -> [&'static str; 6] {
        match self {
            English => ["Region", "First year", "Sales", "Last year", "Sales", "Growth"],
            Chinese => ["地区", "首年", "销售额", "末年", "销售额", "增长"],
        }
    }

    pub(super) fn cells(self, region: &RegionGrowth) -> [String; 6] {
        let RegionGrowth { name, first, last, percent } = region;
        let growth = percent.map_or_else(|| "–".to_owned(), |percent| self.format_percent(percent));
        let from = first.0.to_string();
        let to = last.0.to_string();
        [name.clone(), from, first.1.clone(), to, last.1.clone(), growth]
    }

    pub(super) fn basis_sentences(
        self,
        file: &str,
        growth: &GrowthTable,
        sheet: &Sheet,
    ) -> Vec<String> {
        let basis = match self {
            English => format!("Growth is from each region's first to its last year in {file}."),
            Chinese => format!("增长按 {file} 中各地区的首年与末年计算。"),
        };
        [basis].into_iter().chain(self.gap_sentences(growth, sheet)).collect()
    }
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
