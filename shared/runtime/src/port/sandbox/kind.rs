//! The two sandboxes, which differ in their libraries and in the jobs that they run.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::SandboxWork;

/// A sandbox, by the jobs that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxKind {
    /// Runs code of models, and describes files for the authors of code, with the same libraries.
    Code,
    /// Reads documents and tables, creates documents and runs queries. Never runs code of models.
    Documents,
}

impl SandboxKind {
    /// All sandboxes.
    pub const ALL: [Self; 2] = [Self::Code, Self::Documents];

    /// Returns the name, as in a stored job.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Documents => "documents",
        }
    }

    /// Returns the sandbox with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for SandboxKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl SandboxWork {
    /// Returns the sandbox that runs the work.
    #[must_use]
    pub fn sandbox(&self) -> SandboxKind {
        match self {
            Self::Python { .. } | Self::Look { .. } | Self::Insights { .. } => SandboxKind::Code,
            Self::Extract { .. }
            | Self::Render { .. }
            | Self::Scale { .. }
            | Self::ReadTables { .. }
            | Self::Query { .. }
            | Self::ShowRows { .. } => SandboxKind::Documents,
        }
    }

    /// Returns true if the work runs DuckDB, which reads the limits of its control group.
    #[must_use]
    pub fn runs_sql_engine(&self) -> bool {
        match self {
            Self::ReadTables { .. } | Self::Query { .. } | Self::ShowRows { .. } => true,
            Self::Python { .. }
            | Self::Look { .. }
            | Self::Extract { .. }
            | Self::Render { .. }
            | Self::Scale { .. }
            | Self::Insights { .. } => false,
        }
    }
}
