//! The user's question about growth: the file, the language, and the file to write.

use super::language::DemoLanguage;
use crate::request::{MessageRole, RecordedRequest};

/// The default name of the report.
const REPORT: &str = "growth.md";

/// The default name of the comparison in a plan.
const COMPARISON: &str = "comparison.md";

/// Words in lower case that mark a question about growth.
const GROWTH: &[&str] = &[
    "grew", "grow", "fastest", "increas", "compar", "增长", "增速", "增幅", "最快", "比较", "对比",
];

/// Chinese words before a file name without a space.
const BEFORE_NAMES: &[&str] = &[
    "文件", "写入", "写到", "写进", "写成", "保存", "存为", "存入", "存到", "存成", "生成", "输出",
    "名为", "读取", "根据", "分析", "查看", "看看", "请看", "打开", "到", "在", "为", "叫", "从",
];

#[derive(Debug)]
pub(super) struct GrowthQuestion {
    pub(super) language: DemoLanguage,
    /// The CSV file of the question: the named file, or the first listed file.
    pub(super) file: Option<String>,
    /// The name of the file to write.
    pub(super) report: String,
    /// The file for the comparison of regions, in a plan.
    pub(super) comparison: String,
}

impl GrowthQuestion {
    /// Returns the question, if about growth.
    pub(super) fn of(request: &RecordedRequest) -> Option<Self> {
        let text = question_text(request);
        let lower = text.to_lowercase();
        if !GROWTH.iter().any(|word| lower.contains(word)) {
            return None;
        }
        Some(Self {
            language: detect_language(text),
            file: csv_file(text, request),
            report: name_ending_in(".md", text).unwrap_or_else(|| REPORT.to_owned()),
            comparison: name_ending_in(".md", text).unwrap_or_else(|| COMPARISON.to_owned()),
        })
    }
}

/// Returns the CSV file of a question: the named file, or the first listed file.
pub(super) fn csv_file(question: &str, request: &RecordedRequest) -> Option<String> {
    let lower = question.to_lowercase();
    let file_names = listed_files(request.system());
    let csv = |name: &&&str| name.to_lowercase().ends_with(".csv");
    let mention = file_names
        .iter()
        .filter(csv)
        .filter(|name| contains_name(&lower, &name.to_lowercase()))
        .max_by_key(|name| name.len());
    mention
        .map(|name| (*name).to_owned())
        .or_else(|| name_ending_in(".csv", question))
        .or_else(|| file_names.iter().find(csv).map(|name| (*name).to_owned()))
}

/// Detects the language of a question, without file names.
pub(super) fn detect_language(question: &str) -> DemoLanguage {
    let mut words = question.to_owned();
    for ending in [".csv", ".md"] {
        while let Some(name) = name_ending_in(ending, &words) {
            words = words.replace(&name, "");
        }
    }
    let chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    if words.contains(chinese) { DemoLanguage::Chinese } else { DemoLanguage::English }
}

/// Returns the user's own words, without names of attached files. A loop repeats the question inside its
/// instructions in the last message. So the question is the newest earlier message contained in the last
/// message.
pub(super) fn question_text(request: &RecordedRequest) -> &str {
    let mut user_texts = request
        .messages()
        .iter()
        .filter(|message| message.role == MessageRole::User && message.images.is_empty())
        .map(|message| without_attached(&message.text))
        .rev();
    let last = user_texts.next().unwrap_or_default();
    user_texts.find(|text| !text.is_empty() && last.contains(text)).unwrap_or(last)
}

/// Returns a question without the text of our prompt `note/attached`.
pub(super) fn without_attached(text: &str) -> &str {
    let notes = ["\n\nThe user attached these files:", "\n\n用户上传了以下文件："];
    let end = notes.iter().find_map(|note| text.find(note)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default().trim()
}

/// Returns the names in the list of files in the instructions: `- sales.csv (123 bytes): …`.
pub(super) fn listed_files(system: &str) -> Vec<&str> {
    let heading = |line: &&str| matches!(line.trim(), "# Files" | "# 文件");
    let lines = system.lines().skip_while(|line| !heading(line)).skip(1);
    lines
        .take_while(|line| !line.starts_with("# "))
        .filter_map(|line| {
            let line = line.strip_prefix("- ")?;
            before_size(line, " (", " bytes").or_else(|| before_size(line, "（", " 字节"))
        })
        .collect()
}

/// Returns the text before the first `open`, a number and `unit`.
fn before_size<'a>(line: &'a str, open: &str, unit: &str) -> Option<&'a str> {
    line.match_indices(open).find_map(|(at, _)| {
        let size = line.get(at + open.len()..)?;
        let rest = size.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < size.len() && rest.starts_with(unit)).then(|| line.get(..at))?
    })
}

/// Returns true if a text contains a name, but not as the end of a longer name.
fn contains_name(text: &str, name: &str) -> bool {
    let longer = |before: &str| before.ends_with(|c: char| c.is_ascii() && is_name_char(c));
    let mut places = text.match_indices(name);
    places.any(|(at, _)| !longer(text.get(..at).unwrap_or_default()))
}

/// Returns the first file name with this extension in a text. Chinese has no spaces: an ASCII name begins
/// after the last non-ASCII character, any other name after an introducing word.
fn name_ending_in(ending: &str, text: &str) -> Option<String> {
    // Only ASCII letters change, so positions stay the same.
    let lower = text.to_ascii_lowercase();
    lower.match_indices(ending).find_map(|(at, _)| {
        let end = at + ending.len();
        let after = text.get(end..)?.chars().next();
        let stem = name_stem(text.get(..at)?);
        let is_name = !stem.is_empty() && !after.is_some_and(|c| c.is_ascii_alphanumeric());
        is_name.then(|| Some(format!("{stem}{}", text.get(at..end)?)))?
    })
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn name_stem(before: &str) -> &str {
    let ascii = before.trim_end_matches(|c: char| c.is_ascii() && is_name_char(c));
    let name = before.trim_end_matches(is_name_char);
    let after = |start: &str| before.get(start.len()..).unwrap_or_default();
    if ascii.len() < before.len() {
        return after(ascii);
    }
    let name = after(name);
    let name_start = BEFORE_NAMES
        .iter()
        .filter_map(|word| Some(name.rfind(word)? + word.len()))
        .filter(|start| *start < name.len())
        .max();
    name.get(name_start.unwrap_or(0)..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_from_the_list_alone() {
        let system = "Be kind.\n\n# Files\n\nThese exist.\n\n- sales.csv (123 bytes): by year\n\
                      - a (1) b.csv (7 bytes, intermediate)\n\n- Read a file with `file_tool`.\n\n\
                      # The answer\n\n- x.csv (1 bytes)";
        assert_eq!(listed_files(system), ["sales.csv", "a (1) b.csv"]);
        let system = "# 文件\n\n- 销售.csv（9 字节，中间文件）：各年";
        assert_eq!(listed_files(system), ["销售.csv"]);
    }

    #[test]
    fn a_longer_name_is_another() {
        assert!(contains_name("growth in sales.csv?", "sales.csv"));
        assert!(contains_name("根据sales.csv", "sales.csv"));
        assert!(!contains_name("growth in old-sales.csv?", "sales.csv"));
    }

    #[test]
    fn names_do_not_decide_the_language() {
        assert_eq!(detect_language("Which grew fastest in 销售.csv?"), DemoLanguage::English);
        assert_eq!(detect_language("读取sales.csv"), DemoLanguage::Chinese);
        assert_eq!(detect_language("把增长写入增长.md"), DemoLanguage::Chinese);
    }

    #[test]
    fn names_are_found_in_both_languages() {
        let md = |text| name_ending_in(".md", text);
        let is = |name: &str| Some(name.to_owned());
        assert_eq!(md("Write a table to growth.md, please"), is("growth.md"));
        assert_eq!(md("into reports/by-region_2.MD"), is("by-region_2.MD"));
        assert_eq!(md("把表格写入growth.md。"), is("growth.md"));
        assert_eq!(md("把表格写到“增长表.md”里"), is("增长表.md"));
        assert_eq!(md("把表格保存到增长表.md"), is("增长表.md"));
        assert_eq!(md("see http://x.mdx and .md"), None);
        assert_eq!(name_ending_in(".csv", "读取销售.csv"), is("销售.csv"));
    }
}
