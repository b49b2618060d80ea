//! Draws rows of timed characters as an animated SVG, without scripts and embedded fonts. Without animation,
//! the picture shows the last screen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::output::{Cell, CellStyle};
use super::rows::COLUMNS;

/// Visible rows; earlier rows are scrolled away.
const ROWS: usize = 30;

/// Duration of the last screen before the animation repeats, in ticks.
const LAST_SCREEN: u64 = 100;

/// Milliseconds per tick; characters of a tick appear together.
const TICK_MS: u64 = 50;

const ROW_HEIGHT: usize = 19;
const MARGIN: usize = 14;
/// A hundredth of a column's width, in pixels of a 14 px font.
const COLUMN_WIDTH: usize = 843;

const STYLE: &str = "\
svg{--paper:#fff;--ink:#1f2328;--dim:#656d76;--edge:#d0d7de}
@media(prefers-color-scheme:dark){svg{--paper:#0d1117;--ink:#e6edf3;--dim:#8b949e;--edge:#30363d}}
rect{fill:var(--paper);stroke:var(--edge)}
text{fill:var(--ink);font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;white-space:pre}
.b{font-weight:700}.d{fill:var(--dim)}
.c0,.c7{fill:var(--ink)}.c1{fill:#d03b3b}.c2{fill:#2a8c4a}.c3{fill:#a87400}.c4{fill:#3b7dd8}.c5{fill:#a259c4}.c6{fill:#1b8a9a}
tspan,g{animation-timing-function:step-end;animation-iteration-count:infinite}
@media(prefers-reduced-motion:reduce){tspan,g{animation:none!important}}
";

/// Draws the picture of these rows, with the title for screen readers.
pub(super) fn draw_picture(rows: &[Vec<Cell>], title: &str) -> String {
    let last = rows.iter().flatten().map(tick_of).max().unwrap_or_default();
    let timeline = Timeline { length: last + LAST_SCREEN };
    let (width, height) =
        (COLUMNS * COLUMN_WIDTH / 100 + 2 * MARGIN, ROWS * ROW_HEIGHT + 2 * MARGIN);
    let title = escape_text(title);
    let inner = ROWS * ROW_HEIGHT;
    let mut texts = String::new();
    let mut ticks = BTreeSet::new();
    for (number, row) in rows.iter().enumerate() {
        write_row(&mut texts, number, row, &mut ticks);
    }
    let overflow = rows.len().saturating_sub(ROWS) * ROW_HEIGHT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{title}\" xml:space=\"preserve\">\n\
         <title>{title}</title>\n<style>\n{STYLE}"
    );
    let _ = writeln!(svg, "tspan,g{{animation-duration:{}s}}", timeline.seconds());
    for tick in &ticks {
        let at = timeline.percent(*tick);
        let _ = writeln!(
            svg,
            ".k{tick}{{animation-name:k{tick}}}@keyframes k{tick}{{0%{{visibility:hidden}}{at}%{{visibility:visible}}}}"
        );
    }
    if overflow > 0 {
        let _ = writeln!(svg, "g{{transform:translateY(-{overflow}px);animation-name:scroll}}");
        let _ = writeln!(svg, "@keyframes scroll{{{}}}", write_scroll(rows, &timeline));
    }
    let _ = write!(
        svg,
        "</style>\n<rect x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n\
         <svg y=\"{MARGIN}\" width=\"{width}\" height=\"{inner}\"><g>\n{texts}</g></svg>\n</svg>\n",
        width - 1,
        height - 1
    );
    svg
}

/// Times as shares of the whole.
struct Timeline {
    /// The total length in ticks.
    length: u64,
}

impl Timeline {
    /// Returns a tick's share in percent, with three decimals.
    fn percent(&self, tick: u64) -> String {
        let thousandths = tick * 100_000 / self.length;
        format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000)
    }

    fn seconds(&self) -> String {
        let ms = self.length * TICK_MS;
        format!("{}.{:02}", ms / 1_000, ms % 1_000 / 10)
    }
}

fn tick_of(cell: &Cell) -> u64 {
    u64::try_from(cell.at.as_millis()).unwrap_or(u64::MAX).div_ceil(TICK_MS)
}

/// Writes a row as spans with the same time and style, and records the times.
fn write_row(texts: &mut String, number: usize, row: &[Cell], ticks: &mut BTreeSet<u64>) {
    if row.is_empty() {
        return;
    }
    let _ = write!(texts, "<text x=\"{MARGIN}\" y=\"{}\">", number * ROW_HEIGHT + MARGIN);
    for span in row.chunk_by(|one, next| tick_of(one) == tick_of(next) && one.style == next.style) {
        let Some(first) = span.first() else { continue };
        let tick = tick_of(first);
        let CellStyle { bold, dim, colour } = first.style;
        let mut classes = Vec::new();
        classes.extend(bold.then(|| "b".to_owned()));
        classes.extend(dim.then(|| "d".to_owned()));
        classes.extend(colour.map(|colour| format!("c{colour}")));
        if tick > 0 {
            ticks.insert(tick);
            classes.push(format!("k{tick}"));
        }
        let text: String = span.iter().map(|cell| cell.character).collect();
        let text = escape_text(&text);
        let _ = if classes.is_empty() {
            write!(texts, "<tspan>{text}</tspan>")
        } else {
            write!(texts, "<tspan class=\"{}\">{text}</tspan>", classes.join(" "))
        };
    }
    texts.push_str("</text>\n");
}

/// Returns the keyframes of scrolling. A row below the last visible row scrolls when the row, or any later
/// row, gets a character.
fn write_scroll(rows: &[Vec<Cell>], timeline: &Timeline) -> String {
    let mut depths = BTreeMap::from([(0, 0)]);
    let mut latest = 0;
    for (number, row) in rows.iter().enumerate() {
        latest = row.first().map_or(latest, tick_of).max(latest);
        let depth = (number + 1).saturating_sub(ROWS) * ROW_HEIGHT;
        depths.insert(latest, depth);
    }
    let mut text = String::new();
    let mut before = None;
    for (tick, depth) in depths {
        if before != Some(depth) {
            let at = timeline.percent(tick);
            let _ = write!(text, "{at}%{{transform:translateY(-{depth}px)}}");
        }
        before = Some(depth);
    }
    text
}

fn escape_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::output::{OutputPiece, read_lines};
    use super::super::rows::break_lines;
    use super::*;

    fn draw(pieces: &[(u64, &str)]) -> String {
        let pieces: Vec<_> = pieces
            .iter()
            .map(|(at_ms, text)| OutputPiece {
                at: Duration::from_millis(*at_ms),
                bytes: text.as_bytes().to_vec(),
            })
            .collect();
        draw_picture(&break_lines(read_lines("$ ask\n", &pieces).unwrap()), "A question")
    }

    #[test]
    fn what_was_printed_appears_when_it_was() {
        insta::assert_snapshot!(draw(&[
            (120, "plan: <Gold & \"silver\">\r\n"),
            (130, "\x1b[2mFirst I \x1b[0m"),
            (900, "\x1b[1;32mlook.\x1b[0m\r\n\r\n"),
            (5_000, "  ✓ done\r\n"),
        ]));
    }

    #[test]
    fn what_is_longer_than_a_screen_scrolls_to_its_end() {
        let line = |number: usize| (number as u64 * 100, format!("line {number}\r\n"));
        let lines: Vec<_> = (1..=31).map(line).collect();
        let pieces: Vec<_> = lines.iter().map(|(at, text)| (*at, text.as_str())).collect();
        let picture = draw(&pieces);
        assert!(picture.contains("g{transform:translateY(-38px);"), "{picture}");
        let scroll = picture.lines().find(|line| line.starts_with("@keyframes scroll")).unwrap();
        // The command and 31 lines: the last two of them scroll, at 3.0 and 3.1 of 8.1 s.
        assert_eq!(
            scroll,
            "@keyframes scroll{0.000%{transform:translateY(-0px)}\
             37.037%{transform:translateY(-19px)}38.271%{transform:translateY(-38px)}}"
        );
        assert_eq!(draw(&pieces), picture);
    }
}
