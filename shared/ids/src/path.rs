//! Paths in a tree of runs, and names below them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bad_id::BadId;
use crate::count::parse_count;
use crate::task::TaskId;

/// The way from a run to one below it: the tasks and calls that lead there, as `s2.1` or
/// `s2.1.t3.c1`. Empty for the run itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<PathSegment>);

/// One level of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathSegment {
    /// A task of the plan above.
    Task(TaskId),
    /// A call of the agent above, by its turn and its place in that, both from 1.
    Call {
        /// The turn of the agent that made the call.
        turn: u32,
        /// The place of the call among those of its turn.
        index: u32,
    },
}

impl Path {
    /// The same seen from a level higher, where it begins with this task.
    #[must_use]
    pub fn in_task(mut self, task: &TaskId) -> Self {
        self.0.insert(0, PathSegment::Task(task.clone()));
        self
    }

    /// Takes the last level off; `None` for the run itself.
    pub fn pop(&mut self) -> Option<PathSegment> {
        self.0.pop()
    }

    /// The task that it begins with, and the rest, which is relative to that task.
    #[must_use]
    pub fn split_task(&self) -> Option<(&TaskId, Self)> {
        let (PathSegment::Task(task), rest) = self.0.split_first()? else { return None };
        Some((task, Self(rest.to_vec())))
    }
}

impl fmt::Display for PathSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => write!(f, "{task}"),
            Self::Call { turn, index } => write!(f, "t{turn}.c{index}"),
        }
    }
}

impl PathSegment {
    /// Reads the segment that a text begins with, which a dot divides from the rest.
    fn split_from(text: &str) -> Option<(Self, &str)> {
        let (first, rest) = text.split_once('.')?;
        let (second, rest) = rest.split_once('.')?;
        let segment = if let Some(step) = first.strip_prefix('s').and_then(parse_count) {
            Self::Task(TaskId::of(step, parse_count(second)?))
        } else {
            let turn = first.strip_prefix('t').and_then(parse_count)?;
            Self::Call { turn, index: second.strip_prefix('c').and_then(parse_count)? }
        };
        Some((segment, rest))
    }
}

/// What names something within one run, without the way there: the grammar of a kind of id.
pub trait LocalName: Sized + fmt::Display {
    /// What an id of this kind is called in errors: `call id`.
    const WHAT: &'static str;
    /// What it must look like.
    const RULE: &'static str;

    /// Reads a whole text; `None` if it is no such name.
    fn parse(text: &str) -> Option<Self>;
}

/// An id: a name within a run, after the way to that run. It is relative to the run in whose journal it
/// stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scoped<N> {
    path: Path,
    name: N,
}

impl<N> Scoped<N> {
    /// What this name stands for in the run itself.
    #[must_use]
    pub fn local(name: N) -> Self {
        Self { path: Path::default(), name }
    }

    /// What this name stands for in the run that a path leads to.
    #[must_use]
    pub fn at(path: Path, name: N) -> Self {
        Self { path, name }
    }

    /// The name within its run.
    #[must_use]
    pub fn name(&self) -> &N {
        &self.name
    }

    /// The way to its run.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The id as it reads in the run that has this task.
    #[must_use]
    pub fn in_task(self, task: &TaskId) -> Self {
        Self { path: self.path.in_task(task), name: self.name }
    }
}

impl<N: LocalName> Scoped<N> {
    /// Reads an id.
    ///
    /// # Errors
    /// [`BadId`] with the rule that the text breaks.
    pub fn new(text: impl AsRef<str>) -> Result<Self, BadId> {
        text.as_ref().parse()
    }
}

impl<N: fmt::Display> fmt::Display for Scoped<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.path.0 {
            write!(f, "{segment}.")?;
        }
        write!(f, "{}", self.name)
    }
}

impl<N: fmt::Display> fmt::Debug for Scoped<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl<N: LocalName> FromStr for Scoped<N> {
    type Err = BadId;

    /// Of several ways to read a text the one with the longest path is meant: `s2.1.start` is the start
    /// of that task.
    fn from_str(text: &str) -> Result<Self, BadId> {
        let mut path = Path::default();
        let mut rest = text;
        let mut found = N::parse(rest).map(Self::local);
        while let Some((segment, after)) = PathSegment::split_from(rest) {
            path.0.push(segment);
            rest = after;
            found = N::parse(rest).map(|name| Self::at(path.clone(), name)).or(found);
        }
        found.ok_or(BadId { what: N::WHAT, rule: N::RULE })
    }
}

impl<N: LocalName> TryFrom<String> for Scoped<N> {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        text.parse()
    }
}

impl<N: fmt::Display> Serialize for Scoped<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, N: LocalName> Deserialize<'de> for Scoped<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
