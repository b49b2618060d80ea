//! Figures and their display.

use serde_json::{Value, json};

/// A measured figure with its target.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    /// The name, as in docs/benchmarks.md.
    pub(crate) name: &'static str,
    /// The target of the figure.
    pub(crate) limit: FigureLimit,
    /// `ms`, `MB`, `1/s`; empty for a count.
    pub(crate) unit: &'static str,
    /// The measured value in the figure's unit, not rounded.
    pub(crate) measured: f64,
    /// Other measurements, and the composition of the figure.
    pub(crate) about: String,
}

/// A limit in the unit of the figure, or no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FigureLimit {
    /// The maximum value that meets the target.
    AtMost(f64),
    /// No limit: the figure depends on the machine more than on the product.
    Unbounded,
}

impl Figure {
    /// Returns true if the limit is met at the displayed precision.
    pub(crate) fn is_met(&self) -> bool {
        // Two requests in slightly more than ten seconds count as 0.2 per second.
        let value = (self.measured * 100.0).round() / 100.0;
        match self.limit {
            FigureLimit::AtMost(most) => value <= most,
            FigureLimit::Unbounded => true,
        }
    }

    fn table_row(&self) -> [String; 4] {
        let unit = match self.unit {
            "" => String::new(),
            unit => format!(" {unit}"),
        };
        // About three digits, without unnecessary decimals.
        let measured = self.measured;
        let decimals = if (measured - measured.round()).abs() < 0.005 || measured >= 100.0 {
            0
        } else if measured >= 10.0 {
            1
        } else {
            2
        };
        let value = format!("{measured:.decimals$}{unit}");
        let (reach, verdict) = match (self.limit, self.is_met()) {
            (FigureLimit::Unbounded, _) => (String::new(), ""),
            (reach, true) => (reach.to_string() + &unit, "ok"),
            (reach, false) => (reach.to_string() + &unit, "MISSED"),
        };
        [self.name.to_owned(), reach, value, verdict.to_owned()]
    }

    fn to_json(&self) -> Value {
        let mut figure = json!({
            "figure": self.name, "unit": self.unit,
            "measured": (self.measured * 1_000.0).round() / 1_000.0,
            "ok": self.is_met(), "about": self.about,
        });
        match (figure.as_object_mut(), self.limit) {
            (Some(members), FigureLimit::AtMost(most)) => {
                members.insert("at_most".to_owned(), json!(most));
            }
            (None, _) | (_, FigureLimit::Unbounded) => {}
        }
        figure
    }
}

impl std::fmt::Display for FigureLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "≤ {most}"),
            Self::Unbounded => Ok(()),
        }
    }
}

/// All figures of one machine.
#[derive(Debug)]
pub(crate) struct Report {
    figures: Vec<Figure>,
    cores: usize,
    /// The durations of a run's parts on this machine.
    parts: String,
}

impl Report {
    pub(crate) fn new(figures: Vec<Figure>, parts: String) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { figures, cores, parts }
    }

    fn missed_figures(&self) -> Vec<&'static str> {
        let figures = self.figures.iter().filter(|figure| !figure.is_met());
        figures.map(|figure| figure.name).collect()
    }

    /// Formats a table: a line about the machine, two lines per figure, and the missed targets.
    pub(crate) fn to_table(&self) -> String {
        let title = ["figure", "reach", "measured", ""].map(str::to_owned);
        let rows: Vec<_> = self.figures.iter().map(Figure::table_row).collect();
        let all = || std::iter::once(&title).chain(&rows);
        let widths = [0, 1, 2, 3].map(|column| {
            let cell = |row: &[String; 4]| row.get(column).map_or(0, |cell| cell.chars().count());
            all().map(cell).max().unwrap_or_default()
        });
        let line = |row: &[String; 4]| {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let mut lines = vec![format!("{} cores, {}; {}\n", self.cores, system_name(), self.parts)];
        lines.push(line(&title));
        for (row, figure) in rows.iter().zip(&self.figures) {
            lines.push(line(row));
            lines.push(format!("    {}", figure.about));
        }
        let names = self.missed_figures();
        lines.push(match names.as_slice() {
            [] => "\nevery figure is reached".to_owned(),
            names => format!("\nMISSED, {}: {}", names.len(), names.join("; ")),
        });
        lines.join("\n")
    }

    /// Returns the JSON object for programs: `cores`, `system`, `parts`, `figures`, and `missed` by name.
    pub(crate) fn to_json(&self) -> Value {
        let figures: Vec<_> = self.figures.iter().map(Figure::to_json).collect();
        json!({
            "cores": self.cores, "system": system_name(), "parts": self.parts, "figures": figures,
            "missed": self.missed_figures(),
        })
    }
}

fn system_name() -> String {
    format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(reach: FigureLimit, measured: f64) -> Figure {
        Figure { name: "a run", limit: reach, unit: "ms", measured, about: "p95 14 ms".to_owned() }
    }

    #[test]
    fn a_missed_figure_is_said_so_in_both_forms() {
        let report = Report {
            figures: vec![
                figure(FigureLimit::AtMost(12.0), 12.004),
                figure(FigureLimit::AtMost(12.0), 12.02),
                figure(FigureLimit::Unbounded, 7.0),
            ],
            cores: 2,
            parts: String::new(),
        };
        let table = report.to_table();
        assert!(table.contains("a run   ≤ 12 ms  12 ms     ok\n    p95 14 ms\n"), "{table}");
        assert!(table.contains("a run   ≤ 12 ms  12.0 ms   MISSED\n"), "{table}");
        assert!(table.contains("a run            7 ms\n    p95 14 ms\n"), "{table}");
        assert!(table.ends_with("MISSED, 1: a run"), "{table}");
        let json = report.to_json();
        assert_eq!(json["missed"], json!(["a run"]));
        assert_eq!(json["figures"][0]["at_most"], json!(12.0));
        assert_eq!(json["figures"][1]["ok"], json!(false));
    }
}
