//! Paths in a tree of runs, and names below them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::bad_id::BadId;
use crate::id::child::ChildId;

/// Maximum levels of a tree of runs below its root.
pub const MAX_DEPTH: usize = 4;

/// The path from a run to a run below, through tasks and calls: `s2.1` or `s2.1.t3.c1`. Empty for the run
/// itself. A parsed id has at most [`MAX_DEPTH`] levels.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<ChildId>);

impl Path {
    /// Returns the path from a run to a child.
    #[must_use]
    pub fn to(child: impl Into<ChildId>) -> Self {
        Self(vec![child.into()])
    }

    /// Returns true if the path is empty and means the run itself.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of levels.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// Returns the path extended to a child of the last run.
    #[must_use]
    pub fn with_child(&self, child: impl Into<ChildId>) -> Self {
        let mut path = self.clone();
        path.0.push(child.into());
        path
    }

    /// Returns the path as seen from the start of `way`, whose end is the start of this path.
    #[must_use]
    pub fn below(&self, way: &Self) -> Self {
        Self(way.0.iter().chain(&self.0).cloned().collect())
    }

    /// Removes and returns the last level; `None` for the run itself.
    pub fn pop(&mut self) -> Option<ChildId> {
        self.0.pop()
    }

    /// Returns the path to the run above and the id of the last child; `None` for the run itself.
    #[must_use]
    pub fn split_last(&self) -> Option<(Self, &ChildId)> {
        let (last, above) = self.0.split_last()?;
        Some((Self(above.to_vec()), last))
    }

    /// Returns the first child and the relative path below it; `None` for the run itself.
    #[must_use]
    pub fn split_first(&self) -> Option<(&ChildId, Self)> {
        let (first, rest) = self.0.split_first()?;
        Some((first, Self(rest.to_vec())))
    }

    /// Returns true if the path begins with `way`: to the same run or below.
    #[must_use]
    pub fn is_within(&self, way: &Self) -> bool {
        self.0.starts_with(&way.0)
    }

    /// Returns the id of the last run on the path, among the children of the run above.
    #[must_use]
    pub fn last(&self) -> Option<&ChildId> {
        self.0.last()
    }
}

impl<C: Into<ChildId>> From<C> for Path {
    fn from(child: C) -> Self {
        Self::to(child)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, child) in self.0.iter().enumerate() {
            let dot = if nth == 0 { "" } else { "." };
            write!(f, "{dot}{child}")?;
        }
        Ok(())
    }
}

impl FromStr for Path {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let rule = "child ids with dots between them, of at most four levels";
        let mut path = Self::default();
        let with_dot = if text.is_empty() { String::new() } else { format!("{text}.") };
        let mut rest = with_dot.as_str();
        while let Some((child, after)) = ChildId::split_from(rest) {
            path.0.push(child);
            rest = after;
        }
        let is_read = rest.is_empty() && path.depth() <= MAX_DEPTH;
        is_read.then_some(path).ok_or(BadId { what: "path", rule })
    }
}

impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A name within one run, without a path: the grammar of a kind of id.
pub trait LocalName: Sized + fmt::Display {
    /// The kind of id in error messages: `call id`.
    const WHAT: &'static str;
    /// The rule for a name of this kind.
    const RULE: &'static str;

    /// Parses a whole text; `None` if the text is not such a name.
    fn parse(text: &str) -> Option<Self>;
}

/// An id: a name within a run, after the path to the run. The path is relative to the run whose journal holds
/// the id.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scoped<N> {
    path: Path,
    name: N,
}

impl<N> Scoped<N> {
    /// Returns the id of this name in the run itself.
    #[must_use]
    pub fn local(name: N) -> Self {
        Self { path: Path::default(), name }
    }

    /// Returns the id of this name in the run at the end of `path`.
    #[must_use]
    pub fn at(path: Path, name: N) -> Self {
        Self { path, name }
    }

    /// Returns the name in its run.
    #[must_use]
    pub fn name(&self) -> &N {
        &self.name
    }

    /// Returns the path to the run.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the id as seen from the start of `way`, whose end is the run that holds the id.
    #[must_use]
    pub fn below(self, way: &Path) -> Self {
        Self { path: self.path.below(way), name: self.name }
    }
}

impl<N: LocalName> Scoped<N> {
    /// Parses an id.
    ///
    /// # Errors
    /// Returns [`BadId`] with the rule that the text breaks.
    pub fn new(text: impl AsRef<str>) -> Result<Self, BadId> {
        text.as_ref().parse()
    }
}

impl<N: fmt::Display> fmt::Display for Scoped<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for child in &self.path.0 {
            write!(f, "{child}.")?;
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

    /// Chooses the longest path if a text can be parsed in several ways: `s2.1.start` is the start of the
    /// task.
    fn from_str(text: &str) -> Result<Self, BadId> {
        let mut path = Path::default();
        let mut rest = text;
        let mut id = N::parse(rest).map(Self::local);
        while path.depth() < MAX_DEPTH
            && let Some((child, after)) = ChildId::split_from(rest)
        {
            path.0.push(child);
            rest = after;
            id = N::parse(rest).map(|name| Self::at(path.clone(), name)).or(id);
        }
        id.ok_or(BadId { what: N::WHAT, rule: N::RULE })
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
