//! No cycle among modules: siblings, each a file with its directory, name each other in one direction
//! only, at every level of a crate. A parent and its children are one thing and may name each other,
//! but no module names an item that is written in the crate's root.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::modules::{ModulePath, ModuleTree, Reference};
use super::source::{Source, sources};
use super::{none, one};

/// The crates whose modules can be read one after the other.
const CRATES: [&str; 9] = [
    "functions/agent",
    "shared/agents",
    "shared/aws",
    "shared/core",
    "shared/messages",
    "shared/protocol",
    "shared/runtime",
    "shared/schema",
    "shared/text",
];

/// The places that are shown of each edge.
const SHOWN: usize = 3;

/// Modules of one parent: which names which, and where.
#[derive(Default)]
struct Siblings(BTreeMap<String, BTreeMap<String, Vec<Reference>>>);

#[test]
fn modules_name_each_other_in_one_direction() {
    let sources = sources();
    none(CRATES.iter().flat_map(|directory| cycles(&sources, directory)));
}

fn cycles(sources: &[Source], directory: &str) -> Vec<String> {
    let references = ModuleTree::read(sources, directory).references();
    let mut levels: BTreeMap<ModulePath, Siblings> = BTreeMap::new();
    let mut complaints = Vec::new();
    for reference in references {
        let (from, to) = (&reference.from, &reference.to);
        let depth = from.iter().zip(to).take_while(|(from, to)| from == to).count();
        match (from.get(depth), to.get(depth)) {
            (Some(from), Some(to)) => {
                let (from, to) = (from.clone(), to.clone());
                let siblings = levels.entry(reference.to[..depth].to_vec()).or_default();
                siblings.0.entry(from).or_default().entry(to).or_default().push(reference);
            }
            (Some(_), None) if depth == 0 => complaints.push(format!(
                "{} names {}, which is written in the crate's root: move it to a module below both",
                reference.place, reference.path
            )),
            _ => {}
        }
    }
    for (parent, siblings) in levels {
        let at = parent.iter().fold(directory.to_owned(), |path, name| format!("{path}/{name}"));
        complaints.extend(siblings.cycles().iter().map(|cycle| siblings.complaint(&at, cycle)));
    }
    complaints
}

impl Siblings {
    /// For every edge that is part of a cycle the shortest one through it, each once.
    fn cycles(&self) -> BTreeSet<Vec<&str>> {
        let edges = self.0.iter().flat_map(|(from, to)| to.keys().map(move |to| (from, to)));
        let cycles = edges.filter_map(|(from, to)| {
            let mut cycle = self.shortest_path(to, from)?;
            let first = (0..cycle.len()).min_by_key(|at| cycle[*at]).unwrap_or_default();
            cycle.rotate_left(first);
            Some(cycle)
        });
        cycles.collect()
    }

    fn shortest_path<'a>(&'a self, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
        let mut paths = VecDeque::from([vec![from]]);
        let mut known = BTreeSet::from([from]);
        while let Some(path) = paths.pop_front() {
            let last = *path.last()?;
            if last == to {
                return Some(path);
            }
            for next in self.0.get(last).into_iter().flat_map(BTreeMap::keys) {
                if known.insert(next) {
                    paths.push_back(path.iter().copied().chain([next.as_str()]).collect());
                }
            }
        }
        None
    }

    fn complaint(&self, parent: &str, cycle: &[&str]) -> String {
        let next = cycle.iter().cycle().skip(1);
        let edges = cycle.iter().zip(next).map(|(from, to)| {
            let references = &self.0[*from][*to];
            let shown = references.iter().take(SHOWN);
            let mut places: Vec<_> =
                shown.map(|reference| format!("{} {}", reference.place, reference.path)).collect();
            if references.len() > SHOWN {
                places.push(format!("{} more", references.len() - SHOWN));
            }
            format!("\n    {from} → {to}: {}", places.join(", "))
        });
        format!("{parent}: {} → {}{}", cycle.join(" → "), cycle[0], edges.collect::<String>())
    }
}

/// The cycles of a crate with these files.
fn cycles_of(files: &[(&str, &str)]) -> Vec<String> {
    let source = |(path, text): &(&str, &str)| Source::parse(&format!("x/src/{path}.rs"), text);
    let sources: Vec<_> = files.iter().map(source).collect();
    cycles(&sources, "x")
}

#[test]
fn a_cycle_is_noticed_and_named_with_its_places() {
    let two = cycles_of(&[
        ("lib", "mod a;\nmod b;"),
        ("a", "use crate::b::B;\npub struct A;"),
        ("b", "pub struct B;\nfn f(a: super::a::A) {}"),
    ]);
    one(two.clone(), "x: a → b → a");
    one(two.clone(), "a → b: x/src/a.rs:1 crate::b::B");
    one(two, "b → a: x/src/b.rs:2 crate::a::A");
    let three = [
        ("a", "use crate::{c, b::B};"),
        ("b", "pub struct B;\nfn f() { g!(crate::c::C, 1); }"),
        ("c", "pub struct C;\nimpl C { fn f() { crate::a::f() } }"),
        ("d", "use crate::a;"),
    ];
    let complaints = cycles_of(&three);
    assert_eq!(complaints.len(), 2, "{complaints:?}");
    assert!(complaints[0].contains("x: a → b → c → a"), "{complaints:?}");
    assert!(complaints[1].contains("x: a → c → a"), "{complaints:?}");
}

#[test]
fn a_cycle_of_children_is_noticed_and_one_with_their_parent_is_none() {
    let parent = ("a", "mod b;\nmod c;\nuse b::B;\npub struct A(B);");
    none(cycles_of(&[
        parent,
        ("a/b", "use super::A;\npub struct B;"),
        ("a/c", "use super::b::B;"),
    ]));
    one(
        cycles_of(&[
            parent,
            ("a/b", "use super::{A, c};\npub struct B;"),
            ("a/c", "use super::b::B;"),
        ]),
        "x/a: b → c → b",
    );
    none(cycles_of(&[("a", "mod b { use super::A; }\npub struct A;"), ("c", "use crate::a::b;")]));
}

#[test]
fn what_an_import_brings_belongs_to_its_origin() {
    let files = |root: &'static str| {
        [
            ("lib", root),
            ("a", "mod inner;\npub use inner::A;"),
            ("a/inner", "use crate::b;\npub struct A;"),
            ("b", "use crate::Known;"),
        ]
    };
    one(cycles_of(&files("pub use a::A as Known;")), "x: a → b → a");
    one(cycles_of(&files("pub use a::*;\npub struct Known;")), "x/src/b.rs:1 names crate::Known");
    none(cycles_of(&files("pub use other::Known;\nuse a::A;")));
    let siblings = [
        ("a", "mod b;\nmod c;\npub use self::b::*;"),
        ("a/b", "use super::c::C;\npub struct B;"),
        ("a/c", "use super::B;\npub struct C;"),
    ];
    one(cycles_of(&siblings), "x/a: b → c → b");
}

#[test]
fn tests_and_visibilities_make_no_cycle() {
    let b = ("b", "pub struct B;");
    none(cycles_of(&[("a", "use crate::b::B;\n#[cfg(test)]\nmod tests {}"), b]));
    let test = "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}";
    none(cycles_of(&[("a", "use crate::b::B;"), ("b", test)]));
    none(cycles_of(&[("a", "mod c;\nuse crate::b::B;"), ("a/c", "pub(in crate::a) struct C;"), b]));
}
