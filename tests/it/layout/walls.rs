//! The two machines have walls: nothing but their own files has methods of theirs or changes them. What
//! belongs to one concern is a unit with state of its own, which the machine asks.

use syn::visit::{self, Visit};
use syn::{ItemImpl, Receiver, Type, TypeReference};

use super::source::{Source, sources};
use super::{none, one};

/// Each machine, and the files that may have its methods; all but the first only read it.
const MACHINES: [(&str, &[&str]); 2] = [
    ("Run", &["shared/core/src/run.rs", "shared/core/src/run/view.rs"]),
    ("Driver", &["shared/runtime/src/driver.rs"]),
];

#[test]
fn machines_are_changed_in_their_own_files() {
    none(sources().iter().flat_map(breaches));
}

fn breaches(source: &Source) -> Vec<String> {
    let foreign = MACHINES.iter().filter(|(_, files)| files[0] != source.path);
    let complaints = foreign.flat_map(|(machine, files)| {
        let is_view = files.contains(&source.path.as_str());
        let (home, complaints) = (files[0], Vec::new());
        let mut reader = Reader { source, machine, home, is_view, complaints };
        reader.visit_file(&source.syntax);
        reader.complaints
    });
    complaints.collect()
}

/// Reads a file that is not the machine's, or only its view.
struct Reader<'a> {
    source: &'a Source,
    machine: &'a str,
    home: &'a str,
    is_view: bool,
    complaints: Vec<String>,
}

impl Reader<'_> {
    fn is_machine(&self, kind: &Type) -> bool {
        match kind {
            Type::Path(kind) => {
                kind.path.segments.last().is_some_and(|last| last.ident == self.machine)
            }
            Type::Reference(kind) => self.is_machine(&kind.elem),
            Type::Paren(kind) => self.is_machine(&kind.elem),
            Type::Group(kind) => self.is_machine(&kind.elem),
            _ => false,
        }
    }

    fn complain(&mut self, line: usize, breach: &str) {
        if !self.source.is_test(line) {
            let (path, home) = (&self.source.path, self.home);
            self.complaints.push(format!("{path}:{line} has {breach}, which belongs into {home}"));
        }
    }
}

impl<'a> Visit<'a> for Reader<'_> {
    fn visit_item_impl(&mut self, block: &'a ItemImpl) {
        if self.is_machine(&block.self_ty) && !self.is_view {
            let breach = format!("an `impl` of `{}`", self.machine);
            self.complain(block.impl_token.span.start().line, &breach);
        }
        visit::visit_item_impl(self, block);
    }

    fn visit_receiver(&mut self, receiver: &'a Receiver) {
        if self.is_view && receiver.reference.is_some() && receiver.mutability.is_some() {
            self.complain(receiver.self_token.span.start().line, "a method with `&mut self`");
        }
        visit::visit_receiver(self, receiver);
    }

    fn visit_type_reference(&mut self, reference: &'a TypeReference) {
        if reference.mutability.is_some() && self.is_machine(&reference.elem) {
            let breach = format!("a `&mut {}`", self.machine);
            self.complain(reference.and_token.span.start().line, &breach);
        }
        visit::visit_type_reference(self, reference);
    }
}

#[test]
fn a_breach_is_noticed_wherever_it_stands() {
    let found = |path: &str, text: &str| breaches(&Source::parse(path, text));
    let foreign = "shared/core/src/run/limit.rs";
    for text in [
        "impl Run {}",
        "impl super::Run {}",
        "impl From<A> for Run {}",
        "mod m { impl B for &mut Run {} }",
    ] {
        let complaints = found(foreign, text);
        assert!(complaints.iter().any(|it| it.contains("an `impl` of `Run`")), "{complaints:?}");
        none(found("shared/core/src/run.rs", text));
    }
    let view = "shared/core/src/run/view.rs";
    none(found(view, "impl Run { fn f(&self) {} }"));
    one(found(view, "impl Run { fn f(&mut self) {} }"), "view.rs:1 has a method with `&mut self`");
    one(found(foreign, "fn f(run: &mut Run) {}"), "run/limit.rs:1 has a `&mut Run`");
    one(found(foreign, "struct A<'a>(Option<&'a mut crate::run::Run>);"), "a `&mut Run`");
    one(found("shared/runtime/src/driver/mail.rs", "impl<P: Ports> Driver<P> {}"), "of `Driver`");
    one(found("a.rs", "fn f<P>(driver: &mut Driver<P>) {}"), "shared/runtime/src/driver.rs");
    one(found("shared/runtime/src/driver.rs", "fn f(run: &mut Run) {}"), "a `&mut Run`");
    none(found(
        "shared/runtime/src/driver.rs",
        "impl<P> Driver<P> { fn f(&mut self, run: &Run) {} }",
    ));
    none(found(
        foreign,
        "impl Limits { fn f(run: &Run) -> Run {} }\nimpl Apply<Run> for Limits {}",
    ));
    none(found(foreign, "#[cfg(test)]\nmod tests {\n    fn f(run: &mut Run) {}\n}"));
}
