//! Advice for problems on a new user's machine: cause, remedy, and a page with details.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_local::{PythonError, StoresError, SystemError};
use serde_json::Value;

use super::json::{number_at, text_at};
use crate::terminal::print_line;

/// A problem with a remedy for new users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Problem {
    KeyRefused,
    KeyMissing,
    ModelUnreachable,
    ModelUnknown,
    PortInUse,
    HomeUnwritable,
    HomeInUse,
    DiskFull,
    PythonMissing,
    PythonUnprepared,
}

/// The advice for a problem.
struct Advice {
    problem: Problem,
    happened: &'static str,
    remedy: &'static str,
    page: &'static str,
}

/// The advice for each problem.
const TABLE: [Advice; 10] = [
    Advice {
        problem: Problem::KeyRefused,
        happened: "The model provider rejects the API key.",
        remedy: "Check OPENAI_API_KEY or ANTHROPIC_API_KEY, or the model's `key` in DJINN_MODELS, and that \
                 the key belongs to that provider.",
        page: "docs/models.md",
    },
    Advice {
        problem: Problem::KeyMissing,
        happened: "The model's API key cannot be read.",
        remedy: "Set the variable named in the model's `key` in DJINN_MODELS, and start again.",
        page: "docs/models.md",
    },
    Advice {
        problem: Problem::ModelUnreachable,
        happened: "The model does not respond.",
        remedy: "Check OPENAI_BASE_URL, ANTHROPIC_BASE_URL or the model's `base_url` in DJINN_MODELS, that \
                 its server is running, and the network.",
        page: "docs/models.md",
    },
    Advice {
        problem: Problem::ModelUnknown,
        happened: "The provider does not have this model.",
        remedy: "Check OPENAI_MODEL, ANTHROPIC_MODEL or the `model` in DJINN_MODELS, and the base URL.",
        page: "docs/models.md",
    },
    Advice {
        problem: Problem::PortInUse,
        happened: "Another program is using this port.",
        remedy: "Stop it, or choose another port: cargo dev --port 9100",
        page: "docs/quickstart.md",
    },
    Advice {
        problem: Problem::HomeUnwritable,
        happened: "The state folder is not writable.",
        remedy: "Make the folder writable, or set DJINN_HOME to another folder.",
        page: "docs/quickstart.md",
    },
    Advice {
        problem: Problem::HomeInUse,
        happened: "Another process is using the state folder.",
        remedy: "Stop the other `cargo dev`, or set DJINN_HOME to another folder.",
        page: "docs/quickstart.md",
    },
    Advice {
        problem: Problem::DiskFull,
        happened: "The disk is full.",
        remedy: "Free some space, or set DJINN_HOME to a folder on another disk.",
        page: "docs/quickstart.md",
    },
    Advice {
        problem: Problem::PythonMissing,
        happened: "Code cannot run here: no usable Python was found. Everything else works.",
        remedy: "Install Python 3.11 or later as `python3`, and ask again.",
        page: "docs/sandbox.md",
    },
    Advice {
        problem: Problem::PythonUnprepared,
        happened: "Code cannot run here: its Python could not be installed. Everything else works.",
        remedy: "Check that `python3` has venv and pip, and that PyPI is reachable; then ask again.",
        page: "docs/sandbox.md",
    },
];

/// The file or folder of an error, in the state folder.
#[derive(Debug)]
pub(super) struct HomeFile(pub(super) PathBuf);

impl fmt::Display for HomeFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be written", self.0.display())
    }
}

/// The reason a run failed or waits.
#[derive(Debug)]
pub(super) struct RunFailure {
    /// The error code, if known to Djinn.
    pub(super) code: Option<ErrorCode>,
    /// The sentence for users.
    pub(super) sentence: String,
}

impl fmt::Display for RunFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl Error for RunFailure {}

/// Adds advice to an error, if the table has advice for the problem.
pub(super) fn add_advice(error: anyhow::Error) -> anyhow::Error {
    match Problem::of_error(&error) {
        Some(problem) => anyhow::anyhow!("{}", problem.write_advice(&format!("{error:#}"))),
        None => error,
    }
}

/// Prints the reason that code cannot run, with advice.
pub(super) fn print_python_advice(error: &PythonError) {
    print_line(&Problem::from(error).write_advice(&error.to_string()));
}

impl From<&PythonError> for Problem {
    fn from(error: &PythonError) -> Self {
        match error {
            PythonError::Missing | PythonError::TooOld(_) => Self::PythonMissing,
            PythonError::Unwritable(_, error) if error.kind() == ErrorKind::StorageFull => {
                Self::DiskFull
            }
            PythonError::Unwritable(..) => Self::HomeUnwritable,
            PythonError::Failed(..) => Self::PythonUnprepared,
        }
    }
}

impl Problem {
    /// Returns the problem behind an error.
    fn of_error(error: &anyhow::Error) -> Option<Self> {
        if error.downcast_ref::<HomeFile>().is_some() {
            let kind = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
            return Some(match kind.map(std::io::Error::kind) {
                Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => Self::DiskFull,
                _ => Self::HomeUnwritable,
            });
        }
        error.chain().find_map(|cause| {
            if let Some(failed) = cause.downcast_ref::<RunFailure>() {
                return failed.code.and_then(Self::of_code);
            }
            match cause.downcast_ref::<SystemError>()? {
                SystemError::Stores(stores) if stores.is_disk_full() => Some(Self::DiskFull),
                SystemError::Stores(StoresError::Dir { .. }) => Some(Self::HomeUnwritable),
                SystemError::Stores(StoresError::InUse(_)) => Some(Self::HomeInUse),
                SystemError::Listen { error, .. } if error.kind() == ErrorKind::AddrInUse => {
                    Some(Self::PortInUse)
                }
                _ => None,
            }
        })
    }

    fn of_code(code: ErrorCode) -> Option<Self> {
        match code {
            ErrorCode::ModelKeyRefused => Some(Self::KeyRefused),
            ErrorCode::ModelKeyMissing => Some(Self::KeyMissing),
            ErrorCode::ModelUnreachable => Some(Self::ModelUnreachable),
            ErrorCode::ModelUnknown => Some(Self::ModelUnknown),
            _ => None,
        }
    }

    /// Formats the cause with the original message, the remedy, and the page with details.
    fn write_advice(self, detail: &str) -> String {
        let Some(advice) = TABLE.iter().find(|advice| advice.problem == self) else {
            return detail.to_owned();
        };
        let Advice { happened, remedy, page, .. } = advice;
        format!("{happened}\n  It says:    {detail}\n  What to do: {remedy}\n  Read more:  {page}")
    }
}

/// Gives each advice only once.
#[derive(Default)]
pub(super) struct Adviser(Mutex<BTreeSet<Problem>>);

impl Adviser {
    /// Returns new advice for this log line.
    pub(super) fn advise_on_log(&self, line: &str) -> Option<String> {
        let line: Value = serde_json::from_str(line).ok()?;
        if text_at(&line, "/message") != "model call failed" {
            return None;
        }
        let problem = match text_at(&line, "/kind") {
            "KeyRefused" => Problem::KeyRefused,
            "KeyMissing" => Problem::KeyMissing,
            "UnknownModel" => Problem::ModelUnknown,
            // A model unreachable only once is retried, and is no problem.
            "Unreachable" if number_at(&line, "/attempt") > 1 => Problem::ModelUnreachable,
            _ => return None,
        };
        let model = text_at(&line, "/model");
        self.advise_once(problem, &format!("a call of the model `{model}` failed"))
    }

    /// Returns new advice for a failure that a run waits out.
    pub(super) fn advise_on_failure(&self, failure: &RunFailure) -> Option<String> {
        self.advise_once(Problem::of_code(failure.code?)?, &failure.sentence)
    }

    fn advise_once(&self, problem: Problem, detail: &str) -> Option<String> {
        let mut past_problems = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        past_problems.insert(problem).then(|| problem.write_advice(detail))
    }
}

impl RunFailure {
    /// Creates a failure from the server's JSON.
    pub(super) fn new(failure: &Value, sentence: String) -> Self {
        let failure_record = serde_json::from_value::<Failure>(failure.clone()).ok();
        Self { code: failure_record.map(|failure| failure.code), sentence }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::Context as _;

    use super::*;

    /// The pages that advice may lead to.
    const PAGES: [&str; 7] = [
        "docs/deploy.md",
        "docs/limits.md",
        "docs/models.md",
        "docs/quickstart.md",
        "docs/sandbox.md",
        "docs/settings.md",
        "docs/web.md",
    ];

    #[test]
    fn every_row_is_of_another_problem_and_leads_to_a_page_and_to_settings_that_exist() {
        let problems: BTreeSet<Problem> = TABLE.iter().map(|advice| advice.problem).collect();
        assert_eq!(problems.len(), TABLE.len());
        let help = djinn_settings::write_help();
        for Advice { happened, remedy, page, .. } in &TABLE {
            assert!(PAGES.contains(page), "{page}");
            assert!(happened.ends_with('.') && !remedy.is_empty());
            let is_setting = |word: &&str| word.contains('_') && *word == word.to_uppercase();
            let words = remedy.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            words.filter(is_setting).for_each(|word| assert!(help.contains(word), "{word}"));
        }
    }

    fn system_error(error: SystemError) -> anyhow::Error {
        anyhow::Error::new(error)
    }

    fn home_error(code: i32) -> anyhow::Error {
        let failed: Result<(), io::Error> = Err(io::Error::from_raw_os_error(code));
        failed.with_context(|| HomeFile("/home/running".into())).unwrap_err()
    }

    #[test]
    fn errors_are_told_by_their_causes() {
        let address = ([127, 0, 0, 1], 9000).into();
        let listen = |kind: ErrorKind| SystemError::Listen { address, error: kind.into() };
        let dir =
            |problem: &str| StoresError::Dir { path: "/a".into(), problem: problem.to_owned() };
        let table =
            |problem: &str| StoresError::Table { path: "/a".into(), problem: problem.to_owned() };
        let ended = |code| RunFailure { code: Some(code), sentence: "Why.".to_owned() };
        for (error, problem) in [
            (system_error(listen(ErrorKind::AddrInUse)), Some(Problem::PortInUse)),
            (system_error(listen(ErrorKind::PermissionDenied)), None),
            (system_error(dir("Not a directory").into()), Some(Problem::HomeUnwritable)),
            (
                system_error(dir("No space left on device (os error 28)").into()),
                Some(Problem::DiskFull),
            ),
            (system_error(table("database or disk is full").into()), Some(Problem::DiskFull)),
            (system_error(table("file is not a database").into()), None),
            (system_error(StoresError::InUse("/a".into()).into()), Some(Problem::HomeInUse)),
            (home_error(28), Some(Problem::DiskFull)),
            (home_error(13), Some(Problem::HomeUnwritable)),
            (ended(ErrorCode::ModelKeyRefused).into(), Some(Problem::KeyRefused)),
            (ended(ErrorCode::ModelKeyMissing).into(), Some(Problem::KeyMissing)),
            (ended(ErrorCode::ModelUnreachable).into(), Some(Problem::ModelUnreachable)),
            (ended(ErrorCode::ModelUnknown).into(), Some(Problem::ModelUnknown)),
            (ended(ErrorCode::StepsUsedUp).into(), None),
            (anyhow::anyhow!("else"), None),
        ] {
            assert_eq!(Problem::of_error(&error), problem, "{error:#}");
        }
    }

    #[test]
    fn what_python_lacks_is_told_apart() {
        let full = io::Error::from_raw_os_error(28);
        for (error, problem) in [
            (PythonError::Missing, Problem::PythonMissing),
            (PythonError::TooOld("Python 3.9".to_owned()), Problem::PythonMissing),
            (PythonError::Failed("pip".to_owned(), "no".to_owned()), Problem::PythonUnprepared),
            (PythonError::Unwritable("/a".to_owned(), full), Problem::DiskFull),
        ] {
            assert_eq!(Problem::from(&error), problem, "{error}");
        }
    }

    #[test]
    fn a_log_is_explained_once() {
        let line = |kind: &str, attempt: u32| {
            format!(
                r#"{{"level":"WARN","message":"model call failed","model":"m","kind":"{kind}","attempt":{attempt}}}"#
            )
        };
        let adviser = Adviser::default();
        assert_eq!(adviser.advise_on_log(&line("Unreachable", 1)), None);
        let advice = adviser.advise_on_log(&line("Unreachable", 2)).unwrap();
        assert!(advice.contains("`m` failed") && advice.ends_with("docs/models.md"), "{advice}");
        assert_eq!(adviser.advise_on_log(&line("Unreachable", 3)), None);
        assert!(adviser.advise_on_log(&line("KeyRefused", 1)).is_some());
        assert_eq!(adviser.advise_on_log(&line("Unreadable", 3)), None);
        assert_eq!(adviser.advise_on_log("no JSON"), None);
    }
}
