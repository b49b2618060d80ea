//! Paths in a tree of runs, and names below them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bad_id::BadId;
use crate::child::ChildId;

/// How many levels a tree of runs has below its root.
pub const MAX_DEPTH: usize = 4;

/// The way from the root of a tree of runs to one below it, or from one to another below that: the tasks
/// and calls that lead there, as `s2.1` or `s2.1.t3.c1`. Empty for the run itself. An id that is read has
/// at most [`MAX_DEPTH`] levels.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<ChildId>);

impl Path {
    /// The way from a run to one right below it.
    #[must_use]
    pub fn to(child: impl Into<ChildId>) -> Self {
        Self(vec![child.into()])
    }

    /// Whether it leads nowhere: to the run itself.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// How many levels it leads down.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// The way on to one that is right below where it leads.
    #[must_use]
    pub fn with_child(&self, child: impl Into<ChildId>) -> Self {
        let mut path = self.clone();
        path.0.push(child.into());
        path
    }

    /// The same seen from where this way begins, which leads to where the other one does.
    #[must_use]
    pub fn below(&self, way: &Self) -> Self {
        Self(way.0.iter().chain(&self.0).cloned().collect())
    }

    /// Takes the last level off; `None` for the run itself.
    pub fn pop(&mut self) -> Option<ChildId> {
        self.0.pop()
    }

    /// The way to the run above, and what that calls this one; `None` for the run itself.
    #[must_use]
    pub fn split_last(&self) -> Option<(Self, &ChildId)> {
        let (last, above) = self.0.split_last()?;
        Some((Self(above.to_vec()), last))
    }

    /// The first level of it, and the rest, which is relative to that; `None` for the run itself.
    #[must_use]
    pub fn split_first(&self) -> Option<(&ChildId, Self)> {
        let (first, rest) = self.0.split_first()?;
        Some((first, Self(rest.to_vec())))
    }

    /// Whether it begins as `way` does: it leads there, or below that.
    #[must_use]
    pub fn is_within(&self, way: &Self) -> bool {
        self.0.starts_with(&way.0)
    }

    /// The name of the run it leads to among those right below the one above it.
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
        let dotted = if text.is_empty() { String::new() } else { format!("{text}.") };
        let mut rest = dotted.as_str();
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

    /// The id as it reads where this way begins, which leads to the run that the id stands in.
    #[must_use]
    pub fn below(self, way: &Path) -> Self {
        Self { path: self.path.below(way), name: self.name }
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

    /// Of several ways to read a text the one with the longest path is meant: `s2.1.start` is the start
    /// of that task.
    fn from_str(text: &str) -> Result<Self, BadId> {
        let mut path = Path::default();
        let mut rest = text;
        let mut found = N::parse(rest).map(Self::local);
        while path.depth() < MAX_DEPTH
            && let Some((child, after)) = ChildId::split_from(rest)
        {
            path.0.push(child);
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
