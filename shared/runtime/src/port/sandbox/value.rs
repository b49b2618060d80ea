//! The values of jobs about code, documents and images.

use djinn_core::id::FileName;
use serde::Deserialize;
use serde_json::Value;

/// The result of a block of Python.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct BlockValue {
    /// The exception that ended the block.
    pub error: Option<BlockError>,
    /// The names of the variables kept for the next block.
    pub kept: Vec<String>,
    /// Lost state: names of variables, and settings of libraries.
    pub lost: Vec<String>,
    /// The files that were not written because their figures are empty.
    pub empty_figures: Vec<String>,
}

/// An uncaught exception of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct BlockError {
    /// The type of the exception, as Python names it.
    pub kind: String,
    /// The message of the exception.
    pub message: String,
    /// The remedy, if any: `no_input`, `no_packages`, `no_magic`, `no_await`, `no_outside`, `no_memory`,
    /// `file_too_large` or `disk_full`.
    pub hint: String,
    /// The line of the block.
    pub line: Option<u64>,
    /// The active lines of the block, outermost first.
    pub trace: Vec<String>,
}

/// A short description of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LookValue {
    /// The description, of at most 4 000 characters.
    pub text: String,
    /// Facts for a reader, as in [`ExtractValue::notes`].
    pub notes: Vec<String>,
    /// The reason for a missing description, as in [`ExtractValue::problem`].
    pub problem: String,
}

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ExtractValue {
    /// The requested part of the text.
    pub text: String,
    /// The number of characters of the whole, if known.
    pub total_chars: Option<u64>,
    /// The offset of the next part; `None` for the last part.
    pub next_offset: Option<u64>,
    /// Facts for a reader: `macros`, `links`, `pictures`, `cut`, `formulas`, `deletions`. With a value after
    /// a colon: `encodings`, `replaced`, `images`, `objects`, `charts`, `comments`, `textless`.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The reason for an unreadable document: `encrypted`, `too_large`, `too_slow`, `broken`, `no_document`
    /// or `no_text`.
    #[serde(default)]
    pub problem: Option<String>,
}

/// The omissions of a rendered document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RenderValue {
    /// The reason for a missing document: `too_large`, `empty` or `broken`; empty if there is a document.
    pub problem: String,
    /// The images named by the text that could not be shown, 50 at most.
    pub missing_images: Vec<String>,
    /// The omitted content: `scripts`, `addresses` (content from elsewhere), `cut` (content above the limit
    /// of a document), `chart: ` with the fault of a block that is shown as code, and `theme: ` with a file of the
    /// deployment's theme that was not used, and the reason.
    pub notes: Vec<String>,
}

/// The result of scaling an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ScaleValue {
    /// The reason for an unusable image: `too_large`, `broken` or `no_image`; empty for a usable image.
    pub problem: String,
    /// The width shown to a model, in pixels.
    pub width: u32,
    /// The height shown to a model, in pixels.
    pub height: u32,
    /// The products that are the parts of a very long image, in order.
    pub parts: Vec<FileName>,
}

/// The findings in the rows of a result.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct InsightValue {
    /// The findings, best first: objects with `kind` (such as `outstanding` or `trend`), `subject`, `p` and the numbers
    /// of the kind.
    pub findings: Vec<Value>,
    /// The reason for missing findings: `unknown_column`, `no_number`, `no_groups`, `not_installed`; of a tool also
    /// `unknown_query`, `no_rows`, `no_measure`, `no_dimension` or `failed`; else empty.
    pub problem: String,
    /// The wrong column or result.
    pub name: String,
    /// Columns or results that exist.
    pub near: Vec<String>,
}

impl InsightValue {
    /// Creates a value without findings.
    #[must_use]
    pub fn from_problem(problem: &str, name: &str) -> Self {
        Self { problem: problem.to_owned(), name: name.to_owned(), ..Self::default() }
    }
}
