//! The sandbox runs model-written Python and reads foreign documents, where neither can do harm.

pub mod wire;

mod kind;
pub mod table;
mod theme;
mod value;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use djinn_core::file::ProductFile;
use djinn_core::id::FileName;
use djinn_core::language::Language;
use djinn_core::time_zone::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::kind::SandboxKind;
use self::table::{FetchedResult, QueryTable, QueryText, TableRule};
pub use self::theme::DocumentTheme;
pub use self::value::{
    BlockError, BlockValue, ExtractValue, InsightValue, LookValue, RenderValue, ScaleValue,
};
use super::SessionKey;
use super::payload::base64_bytes;
use super::tool::BoxFuture;

/// The maximum time of a job in the sandbox, in seconds.
pub const MAX_JOB_SECONDS: u32 = 30;
/// The maximum number of products of a job; see [`SandboxAnswer::products`].
pub const MAX_PRODUCTS: usize = 20;
/// The maximum size of a product, in bytes.
pub const MAX_PRODUCT: u64 = 20 * 1024 * 1024;
/// The maximum size of all products of a job, in bytes: a function of 512 MB holds these.
pub const MAX_PRODUCT_BYTES: u64 = 64 * 1024 * 1024;
/// The maximum size of all files of a job, in bytes, in every sandbox.
pub const MAX_JOB_BYTES: u64 = 200 * 1024 * 1024;

/// The session of a job, and the sandbox's facts about the call.
#[derive(Debug, Clone)]
pub struct JobContext {
    /// The session of the files. A process that ran for one tenant runs for no other.
    pub session: SessionKey,
    /// Files of the session that also belong in the current folder, for a sandbox that reads files by itself;
    /// see [`Sandbox::reads_files`].
    pub stored: Vec<ProductFile>,
    /// Receives the reasons for which the job waits before its start.
    pub waits: WaitReporter,
}

impl JobContext {
    /// Creates the context of a job that brings all of its files.
    #[must_use]
    pub fn new(session: &SessionKey) -> Self {
        Self { session: session.clone(), stored: Vec::new(), waits: WaitReporter::default() }
    }

    /// Adds a receiver of the job's waits.
    #[must_use]
    pub fn with_wait_reporter(self, report: impl Fn(JobWait) + Send + Sync + 'static) -> Self {
        Self { waits: WaitReporter(Some(Arc::new(report))), ..self }
    }
}

/// A reason for which a job waits before its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobWait {
    /// The queue: the job is number `place` in line, from 1.
    Queue {
        /// The place in line, from 1.
        place: usize,
    },
    /// The installation of Python and its packages: `done` of `total` parts are installed.
    Installation {
        /// The number of installed parts.
        done: usize,
        /// The number of all parts.
        total: usize,
    },
}

/// A receiver of a job's waits; the default ignores every report.
#[derive(Clone, Default)]
pub struct WaitReporter(Option<Arc<dyn Fn(JobWait) + Send + Sync>>);

impl WaitReporter {
    /// Reports the current wait of the job.
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

/// A job: the work and the files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SandboxJob {
    /// The work to be done.
    pub work: SandboxWork,
    /// The files in the current folder.
    pub files: Vec<SandboxFile>,
    /// The state after the previous block; see [`SandboxAnswer::state`].
    #[serde(default, with = "base64_bytes", skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<u8>,
}

/// The work of a sandbox job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "arguments", rename_all = "snake_case")]
pub enum SandboxWork {
    /// Runs a block of Python. The answer's value is a [`BlockValue`].
    Python {
        /// The block as the model wrote it.
        code: String,
        /// The earlier blocks that ended without an error, oldest first: their imports and definitions run
        /// again.
        earlier: Vec<String>,
    },
    /// Describes files. The value is an object with a [`LookValue`] for each name.
    Look {
        /// The names of files of the job.
        names: Vec<FileName>,
        /// The language of the labels in the descriptions.
        language: Language,
    },
    /// Reads a document as text. The answer's value is an [`ExtractValue`].
    Extract {
        /// The name of a file of the job.
        name: FileName,
        /// The number of characters to skip.
        offset: u64,
        /// The maximum number of characters to return.
        limit: u64,
        /// The language of the marks between pages, slides and sheets.
        language: Language,
    },
    /// Renders a text as a document: the answer's product `name`. The value is a [`RenderValue`].
    Render {
        /// The format of the document.
        format: DocumentFormat,
        /// The name of the document; differs from the names of the job's files.
        name: FileName,
        /// The text: HTML for `html` and `ppt`, Markdown for the others. Images in the text have the names of
        /// the job's files.
        text: String,
        /// The title, for formats that show a title beside the text; may be empty.
        title: String,
        /// The language of the text.
        language: Language,
        /// The theme of the deployment, whose files are files of the job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        theme: Option<Box<DocumentTheme>>,
    },
    /// Scales images for a model. Scaled images are products under their own names, or in parts. The value is
    /// an object with a [`ScaleValue`] for each name.
    Scale {
        /// The names of images among the job's files.
        names: Vec<FileName>,
        /// The maximum length of an edge, in pixels.
        max_edge: u32,
        /// The maximum size of an image, in bytes.
        max_bytes: u64,
    },
    /// Reads files as typed tables: CSV, JSON, workbooks and Parquet. Each table is a product, a Parquet file
    /// named by the hash of its content. The value is an object with a [`table::TablesValue`] for each name.
    ReadTables {
        /// The names of files of the job.
        names: Vec<FileName>,
        /// The zone to whose clocks times with an offset from UTC are converted.
        #[serde(default)]
        time_zone: TimeZone,
        /// The rule of a table of the deployment, for a job with one file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Box<TableRule>>,
    },
    /// Runs queries over tables. Each result is a product, a CSV file. The value is a [`table::QueryValue`].
    Query {
        /// The tables, whose data are files of the job.
        tables: Vec<QueryTable>,
        /// The queries, in the order of the results.
        queries: Vec<QueryText>,
        /// Queries that run although a total counts rows several times.
        accepted: Vec<String>,
        /// The maximum time of all queries, in seconds.
        seconds: u32,
        /// The zone of the engine's clock.
        #[serde(default)]
        time_zone: TimeZone,
    },
    /// Tests the rows of a result for what stands out. The value is an [`InsightValue`].
    Insights {
        /// The name of a CSV file of the job.
        name: FileName,
        /// The column with the numbers.
        measure: String,
        /// The column with the groups.
        dimension: Option<String>,
        /// The column with the time.
        time: Option<String>,
    },
    /// Makes results of rows of a database. Each result is a product, a CSV file. The value is a
    /// [`table::QueryValue`].
    ShowRows {
        /// The results, whose rows are files of the job.
        results: Vec<FetchedResult>,
    },
}

/// The format of a rendered document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentFormat {
    /// An HTML page that loads nothing.
    Html,
    /// Slides as an HTML page that loads nothing.
    Ppt,
    /// A document for Word (`.docx`).
    Docx,
    /// Slides for PowerPoint (`.pptx`).
    Pptx,
    /// A PDF with numbered pages.
    Pdf,
}

/// A file sent to the sandbox or returned by it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxFile {
    /// The name in the current folder.
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

/// The end of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEnd {
    /// The job returned a result.
    Done,
    /// The job's time was over.
    Time,
    /// The job wrote more than allowed.
    Disk,
    /// The job made a forbidden system call.
    Violation,
    /// The job died, most often for lack of memory.
    Crashed,
    /// The job ended by itself without a readable result.
    NoResult,
    /// The jail could not be set up, so nothing was run.
    Unjailed,
}

/// The output of a job: all of it, or the beginning and the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOutput {
    /// The beginning of the output.
    pub head: String,
    /// The number of bytes left out after the beginning.
    pub omitted: u64,
    /// The end of the output.
    pub tail: String,
}

/// The result of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SandboxAnswer {
    /// The end of the job.
    pub end: JobEnd,
    /// The time in the sandbox, in seconds.
    pub seconds: f64,
    /// The output of the job.
    pub output: JobOutput,
    /// The value of the work; null unless the job is done. Foreign code may have written the value.
    pub value: Value,
    /// The created and changed files, by name.
    pub products: Vec<SandboxFile>,
    /// Created files that are no products: too large (alone or together), too many, or no regular files.
    pub left_out: Vec<String>,
    /// The variables for the next block. Only the sandbox may read this field.
    #[serde(default, with = "base64_bytes", skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<u8>,
}

/// The reason for which a job was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// No sandbox is available, or it cannot confine code. The sentence names the reason and the remedy.
    #[error("{0}")]
    Disabled(String),
    /// The sandbox was unreachable or failed; the same job may succeed later.
    #[error("{0}")]
    Unavailable(String),
    /// Python could not be installed or started; both are retried. The sentence names the failure and its
    /// time.
    #[error("{0}")]
    Unready(String),
    /// Too many jobs are at work; the same job may succeed later.
    #[error("the sandbox is busy: this job is number {place} in line")]
    Busy {
        /// The place in line that the job gave up, from 1.
        place: usize,
    },
}

/// A sandbox in this process or behind an invocation. An invocation needs `lambda:InvokeFunction`, and
/// `s3:GetObject`, `PutObject` and `DeleteObject` under the tenants' `sandbox/` for content above the payload
/// limit.
pub trait Sandbox: Send + Sync {
    /// Returns the maximum size of all files of a job, in bytes.
    fn max_bytes(&self) -> u64;

    /// Returns the timeout of a call that runs a job, transport included (default 60 s).
    fn call_timeout(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// Returns true if the sandbox reads files of a session by itself, so that jobs need not bring files.
    fn reads_files(&self) -> bool {
        false
    }

    /// Runs a job to its end.
    fn run_job<'a>(
        &'a self,
        context: &'a JobContext,
        job: SandboxJob,
    ) -> BoxFuture<'a, Result<SandboxAnswer, SandboxError>>;
}

/// The stand-in for a missing sandbox: every job fails with [`SandboxError::Disabled`].
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
