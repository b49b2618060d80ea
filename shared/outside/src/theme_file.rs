//! The file of a theme, `templates/theme.toml`: colors, fonts and footer of a deployment's documents.

use serde::{Deserialize, Serialize};

use crate::fields::{FieldReader, Located, Section, quote};
use crate::problem::ToolFileProblem;

/// The number of a theme's colors.
const COLORS: usize = 6;

/// Maximum characters of a font's name, and of a footer.
const MAX_FONT: usize = 60;
const MAX_FOOTER: usize = 120;

/// The style of a deployment's documents, from a valid file. An absent field leaves the style of Djinn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DocumentStyle {
    /// Six colors as `RRGGBB`, or none: those of charts, the first of headings and tables, the second of marks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub colors: Vec<String>,
    /// The ground of covers, as `RRGGBB` (default a dark shade of the first color).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dark: Option<String>,
    /// The font of Latin letters. PDF documents keep their own fonts, which are embedded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latin: Option<String>,
    /// The font of Chinese characters, like `latin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chinese: Option<String>,
    /// The line at the foot of every page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub footer: Option<String>,
}

impl DocumentStyle {
    /// Reads the `text` of the file at `path`.
    ///
    /// # Errors
    /// Returns all problems, in the order of the file.
    pub fn read(path: &str, text: &str) -> Result<Self, Vec<ToolFileProblem>> {
        let mut reader = FieldReader::new(path, text);
        let table = reader.parse_table();
        if !reader.problems.is_empty() {
            return Err(reader.problems);
        }
        let style = read_style(&mut reader, &FieldReader::open_top(table.get_ref()));
        let problems = reader.into_problems();
        if problems.is_empty() { Ok(style) } else { Err(problems) }
    }
}

fn read_style<'a>(reader: &mut FieldReader<'a>, top: &Section<'a>) -> DocumentStyle {
    reader.check_names(top, &["colors", "dark", "footer", "fonts"]);
    let mut style = DocumentStyle {
        colors: read_colors(reader, top),
        dark: read_dark(reader, top),
        footer: read_line(reader, top, "footer", MAX_FOOTER, |_| true),
        ..DocumentStyle::default()
    };
    if let Some(fonts) = reader.read_section(top, "fonts") {
        reader.check_names(&fonts, &["latin", "chinese"]);
        let is_allowed = |letter: char| letter.is_alphanumeric() || letter == ' ' || letter == '-';
        style.latin = read_line(reader, &fonts, "latin", MAX_FONT, is_allowed);
        style.chinese = read_line(reader, &fonts, "chinese", MAX_FONT, is_allowed);
    }
    style
}

fn read_colors<'a>(reader: &mut FieldReader<'a>, top: &Section<'a>) -> Vec<String> {
    let Some(names) = reader.read_names(top, "colors") else { return Vec::new() };
    let line = reader.line_of(top, "colors");
    if names.len() != COLORS {
        reader.refuse(line, format!("`colors` must be {COLORS} colors, got {}", names.len()));
    }
    let read = |name: &String| match parse_color(name) {
        Some(color) => Some(color),
        None => {
            reader.refuse(
                line,
                format!("`colors` must be colors such as `#1B5E8C`, got {}", quote(name)),
            );
            None
        }
    };
    names.iter().filter_map(read).collect()
}

fn read_dark<'a>(reader: &mut FieldReader<'a>, top: &Section<'a>) -> Option<String> {
    const ACCEPTED: &str = "a color such as `#12304A`";
    let Located { value, line } = reader.read_text(top, "dark", ACCEPTED)?;
    let color = parse_color(&value);
    if color.is_none() {
        reader.refuse(line, format!("`dark` must be {ACCEPTED}, got {}", quote(&value)));
    }
    color
}

/// Reads a text of one line whose characters are allowed.
fn read_line<'a>(
    reader: &mut FieldReader<'a>,
    section: &Section<'a>,
    name: &str,
    most: usize,
    is_allowed: impl Fn(char) -> bool,
) -> Option<String> {
    let accepted = format!("a text of one line, of at most {most} characters");
    let Located { value, line } = reader.read_text(section, name, &accepted)?;
    let text = value.trim();
    let invalid_letter = text.chars().find(|letter| letter.is_control() || !is_allowed(*letter));
    let path = section.join_path(name);
    if let Some(letter) = invalid_letter {
        let letter = quote(&letter.to_string());
        reader.refuse(line, format!("`{path}` must be {accepted}, and cannot have {letter}"));
    } else if text.chars().count() > most {
        reader.refuse(line, format!("`{path}` must be {accepted}"));
    }
    Some(text.to_owned())
}

/// Returns a color such as `#1b5e8c` as `1B5E8C`.
fn parse_color(text: &str) -> Option<String> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    let is_color = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_color.then(|| digits.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "colors = ['#7a1f5c', 'F2B705', '2E7D6B', '3B5BA5', 'B0413E', '6B6B6B']\ndark = '#30102a'\n\
                         footer = ' ACME · internal '\n[fonts]\nlatin = 'Georgia'\nchinese = '思源黑体'\n";

    #[test]
    fn theme_has_colors_fonts_and_a_footer() {
        let style = DocumentStyle::read("theme.toml", VALID).unwrap();
        assert_eq!(style.colors.first().map(String::as_str), Some("7A1F5C"));
        assert_eq!((style.colors.len(), style.dark.as_deref()), (6, Some("30102A")));
        assert_eq!(style.footer.as_deref(), Some("ACME · internal"));
        assert_eq!(
            style.latin.as_deref().zip(style.chinese.as_deref()),
            Some(("Georgia", "思源黑体"))
        );
        assert_eq!(DocumentStyle::read("theme.toml", ""), Ok(DocumentStyle::default()));
    }

    #[test]
    fn each_bad_field_is_named_with_its_line() {
        let long = format!("footer = '{}'", "a".repeat(121));
        for (text, says) in [
            ("color = []", "1: `color` is not a field: did you mean `colors`?"),
            ("colors = 3", "1: `colors` must be a list of names, got `3`"),
            ("\ncolors = ['123456']", "2: `colors` must be 6 colors, got 1"),
            (
                "colors = ['red', '000000', '000000', '000000', '000000', '000000']",
                "1: `colors` must be colors such as `#1B5E8C`, got `red`",
            ),
            ("dark = '#12'", "1: `dark` must be a color such as `#12304A`, got `#12`"),
            ("footer = 'a\\nb'\nfooter = 'c'", "2: duplicate key"),
            (
                "footer = \"a\\nb\"",
                "1: `footer` must be a text of one line, of at most 120 characters, and cannot have ",
            ),
            (&long, "1: `footer` must be a text of one line, of at most 120 characters"),
            (
                "[fonts]\nlatin = 'a\";x'",
                "2: `fonts.latin` must be a text of one line, of at most 60 characters, and cannot have `\"`",
            ),
            ("[fonts]\nserif = 'a'", "2: `fonts.serif` is not a field: there are latin, chinese"),
        ] {
            let problems = DocumentStyle::read("theme.toml", text).unwrap_err();
            let first = problems.first().unwrap().to_string();
            assert!(first.starts_with(&format!("theme.toml:{says}")), "{text}: {first}");
        }
    }
}
