//! The sandbox: runs Python that a model wrote and reads documents from anywhere, where neither can harm
//! anything.

pub mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use djinn_core::file::ProductFile;
use djinn_core::id::FileName;
use djinn_core::language::Language;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SessionKey;
use super::payload::base64_bytes;
use super::tool::BoxFuture;

/// Seconds that a job may take, from its start in the sandbox to its end.
pub const MAX_JOB_SECONDS: u32 = 30;
/// The most products of a job; see [`SandboxAnswer::products`].
pub const MAX_PRODUCTS: usize = 20;
/// The most bytes of a product.
pub const MAX_PRODUCT: u64 = 20 * 1024 * 1024;
/// The most bytes of all products of a job together: a function of 512 MB holds them.
pub const MAX_PRODUCT_BYTES: u64 = 64 * 1024 * 1024;
/// The most bytes of all files of a job together, whichever sandbox does it.
pub const MAX_JOB_BYTES: u64 = 200 * 1024 * 1024;

/// The session of a job, and what a sandbox needs to know of the call that it is for.
#[derive(Debug, Clone)]
pub struct JobContext {
    /// The session of the files. What ran for one tenant runs for no other.
    pub session: SessionKey,
    /// Files of the session that lie in the current folder too, for a sandbox that reads them by itself; see
    /// [`Sandbox::reads_files`].
    pub stored: Vec<ProductFile>,
    /// Receives what the job waits for before it begins.
    pub waits: WaitReporter,
}

impl JobContext {
    /// A job of this session's that brings all of its files.
    #[must_use]
    pub fn new(session: &SessionKey) -> Self {
        Self { session: session.clone(), stored: Vec::new(), waits: WaitReporter::default() }
    }

    /// The same, with a receiver of what the job waits for.
    #[must_use]
    pub fn with_wait_reporter(self, report: impl Fn(JobWait) + Send + Sync + 'static) -> Self {
        Self { waits: WaitReporter(Some(Arc::new(report))), ..self }
    }
}

/// Something that a job waits for before it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobWait {
    /// Its turn: the job is number `place` in line, from 1.
    Queue {
        /// The place in line.
        place: usize,
    },
    /// The installation of Python and its packages: `done` of `total` parts are there.
    Installation {
        /// The number of parts that are there.
        done: usize,
        /// The number of all parts.
        total: usize,
    },
}

/// A receiver of what a job waits for; the default receives nothing.
#[derive(Clone, Default)]
pub struct WaitReporter(Option<Arc<dyn Fn(JobWait) + Send + Sync>>);

impl WaitReporter {
    /// Reports what the job waits for now.
    pub fn report(&self, wait: JobWait) {
        if let Some(report) = &self.0 {
            report(wait);
        }
    }
}

impl fmt::Debug for WaitReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "WaitReporter" } else { "WaitReporter(to nobody)" })
    }
}

/// What is to be done with which files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SandboxJob {
    /// What is to be done.
    pub work: SandboxWork,
    /// The files that lie in the current folder.
    pub files: Vec<SandboxFile>,
    /// What the block before this one left; see [`SandboxAnswer::state`].
    #[serde(default, with = "base64_bytes", skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<u8>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "arguments", rename_all = "snake_case")]
pub enum SandboxWork {
    /// Runs a block of Python. The value of the answer is a [`BlockValue`].
    Python {
        /// The block as a model wrote it.
        code: String,
        /// The blocks before it that ended without an error, oldest first: their imports and definitions run again.
        earlier: Vec<String>,
    },
    /// Looks at files: the value is an object that has a [`LookValue`] for each name.
    Look {
        /// The names of the files, which are among the job's.
        names: Vec<FileName>,
        /// The language of the labels in the descriptions.
        language: Language,
    },
    /// Reads a document as text. The value of the answer is an [`ExtractValue`].
    Extract {
        /// The name of the file, which is among the job's.
        name: FileName,
        /// How many characters are passed over.
        offset: u64,
        /// How many characters are wanted at most.
        limit: u64,
        /// The language of the marks between pages, slides and sheets.
        language: Language,
    },
    /// Makes a document of a text. It is the answer's product `name`, and the value is a [`RenderValue`].
    Render {
        /// What it is made as.
        format: DocumentFormat,
        /// The name of the document, which is none of the job's files.
        name: FileName,
        /// What is rendered: HTML for `html` and `ppt`, Markdown for the others. Images in it are named as the
        /// job's files are.
        text: String,
        /// The title, for what shows one beside the text; may be empty.
        title: String,
        /// The language of the text.
        language: Language,
    },
    /// Makes images small enough for a model. Those that were too large are products under their own names, or in
    /// parts; the value is an object that has a [`ScaleValue`] for each name.
    Scale {
        /// The names of the images, which are among the job's files.
        names: Vec<FileName>,
        /// The most pixels of an edge.
        max_edge: u32,
        /// The most bytes of an image.
        max_bytes: u64,
    },
}

/// What a text is made as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentFormat {
    /// A page of HTML that loads nothing.
    Html,
    /// Slides as a page that loads nothing.
    Ppt,
    /// A document that Word opens.
    Docx,
    /// Slides that PowerPoint opens.
    Pptx,
    /// A PDF with numbered pages.
    Pdf,
}

/// A file on its way into the sandbox or out of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxFile {
    /// Its name in the current folder.
    pub name: FileName,
    /// All bytes of the file.
    #[serde(with = "base64_bytes")]
    pub content: Vec<u8>,
}

impl std::fmt::Debug for SandboxFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.content.len())
    }
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEnd {
    /// It said what came of it.
    Done,
    /// Its time was over.
    Time,
    /// It wrote more than a job may.
    Disk,
    /// It called what no code of good faith calls.
    Violation,
    /// It died, most often for want of memory.
    Crashed,
    /// It ended by itself without a readable result.
    NoResult,
    /// The walls around it could not be put up, so that nothing was run.
    Unjailed,
}

/// What a job printed: all of it, or its beginning and its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOutput {
    /// The beginning of the output.
    pub head: String,
    /// Bytes that are left out after it.
    pub omitted: u64,
    /// The end of the output.
    pub tail: String,
}

/// What came of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SandboxAnswer {
    /// How the job ended.
    pub end: JobEnd,
    /// How long it took in the sandbox.
    pub seconds: f64,
    /// What the job printed.
    pub output: JobOutput,
    /// What the work came to; null unless it is done. Foreign code may have made it.
    pub value: Value,
    /// The files that it made or changed, by name.
    pub products: Vec<SandboxFile>,
    /// Files that it made and that are no products: too large, alone or together, too many, or no regular files.
    pub left_out: Vec<String>,
    /// Its variables, for the next block. Nothing but the sandbox may read them.
    #[serde(default, with = "base64_bytes", skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<u8>,
}

/// What a block of Python says of itself.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct BlockValue {
    /// The exception that ended it.
    pub error: Option<BlockError>,
    /// The names of the variables that the next block has.
    pub kept: Vec<String>,
    /// What it has not: names, and settings of libraries.
    pub lost: Vec<String>,
    /// The files that were not written since nothing is drawn in their figures.
    pub empty_figures: Vec<String>,
}

/// An exception that nothing caught.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct BlockError {
    /// Its type, as Python names it.
    pub kind: String,
    /// What it says of itself.
    pub message: String,
    /// What there is instead, if there is something: `no_input`, `no_packages`, `no_magic`, `no_await`,
    /// `no_outside`, `no_memory`, `file_too_large` or `disk_full`.
    pub hint: String,
    /// The line of the block.
    pub line: Option<u64>,
    /// The lines of the block that were at work, outermost first.
    pub trace: Vec<String>,
}

/// What stands in a file, in short.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LookValue {
    /// The description, of at most 4 000 characters.
    pub text: String,
    /// Facts for a reader, as in [`ExtractValue::notes`].
    pub notes: Vec<String>,
    /// Why there is none, as [`ExtractValue::problem`] says it.
    pub problem: String,
}

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ExtractValue {
    /// The part that was asked for.
    pub text: String,
    /// Characters of the whole, where that is known.
    pub total_chars: Option<u64>,
    /// Where the next part begins, unless this is the last.
    pub next_offset: Option<u64>,
    /// Facts for a reader: `macros`, `links`, `pictures`, `cut`, `formulas`, `deletions`, and with a value after a
    /// colon `encodings`, `replaced`, `images`, `objects`, `charts`, `comments`, `textless`.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Why it could not be read: `encrypted`, `too_large`, `too_slow`, `broken`, `no_document` or `no_text`.
    #[serde(default)]
    pub problem: Option<String>,
}

/// What a rendered document lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RenderValue {
    /// Why there is no document: `too_large`, `empty` or `broken`; empty if there is one.
    pub problem: String,
    /// The images that the text names and that could not be shown, 50 at most.
    pub missing_images: Vec<String>,
    /// What was left out: `scripts`, `addresses` (what would be loaded from elsewhere), `cut` (more than a
    /// document may have).
    pub notes: Vec<String>,
}

/// What became of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ScaleValue {
    /// Why it cannot be shown: `too_large`, `broken` or `no_image`; empty if it can.
    pub problem: String,
    /// Pixels of its width as a model is shown it.
    pub width: u32,
    /// Pixels of its height as a model is shown it.
    pub height: u32,
    /// The products that are its parts, in order, where it is very long.
    pub parts: Vec<FileName>,
}

/// Why a job was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// There is no sandbox here, or it cannot hold code: a sentence that says why and what helps.
    #[error("{0}")]
    Disabled(String),
    /// It was not reached, or it failed; the same job may succeed later.
    #[error("{0}")]
    Unavailable(String),
    /// Python could not be installed or started, which is tried again: a sentence that says what failed, and when.
    #[error("{0}")]
    Unready(String),
    /// Too many jobs are at work; the same job may have its turn later.
    #[error("the sandbox is busy: this job is number {place} in line")]
    Busy {
        /// The place in line that the job gave up, from 1.
        place: usize,
    },
}

/// A sandbox, reached in this process or by an invocation. Needs for the latter `lambda:InvokeFunction`, and
/// `s3:GetObject`, `PutObject` and `DeleteObject` under the tenants' `sandbox/` for what an invocation cannot
/// hold.
pub trait Sandbox: Send + Sync {
    /// Bytes of all files together that a job may be given.
    fn max_bytes(&self) -> u64;

    /// How long a call that has a job done may take, the way to the sandbox and back included.
    fn call_timeout(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// Whether it reads files of a session by itself, so that a job need not bring them.
    fn reads_files(&self) -> bool {
        false
    }

    /// Does a job to its end.
    fn run_job<'a>(
        &'a self,
        context: &'a JobContext,
        job: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>>;
}

/// What stands where there is no sandbox: it says so.
pub struct DisabledSandbox(pub String);

impl Sandbox for DisabledSandbox {
    fn max_bytes(&self) -> u64 {
        0
    }

    fn run_job<'a>(
        &'a self,
        _: &'a JobContext,
        _: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>> {
        Box::pin(async { Err(SandboxError::Disabled(self.0.clone())) })
    }
}
