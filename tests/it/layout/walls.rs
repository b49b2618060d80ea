//! The two machines have walls: nothing but their own files has methods of theirs or changes them, and
//! the steps that are listed with them may change one they are given. What belongs to one concern is a
//! unit with state of its own, which the machine asks.

use syn::visit::{self, Visit};
use syn::{ItemImpl, Receiver, Type, TypeReference};

use super::source::{Source, sources};
use super::{none, one};

/// A machine, and the files that may do with it what others may not.
struct Machine {
    name: &'static str,
    /// The file that has its methods and changes it.
    home: &'static str,
    /// The files with methods of it that only read.
    views: &'static [&'static str],
    /// The files and directories that may be handed a `&mut` of it, but have no methods of it.
    steps: &'static [&'static str],
}

const MACHINES: [Machine; 2] = [
    Machine {
        name: "Run",
        home: "shared/core/src/run.rs",
        views: &["shared/core/src/run/view.rs"],
        // The one place where an input is applied to several parts of a run.
        steps: &["shared/core/src/run/transition.rs", "shared/core/src/run/transition/"],
    },
    Machine { name: "Driver", home: "shared/runtime/src/driver.rs", views: &[], steps: &[] },
];

#[test]
fn machines_are_changed_in_their_own_files() {
    none(sources().iter().flat_map(breaches));
}

fn breaches(source: &Source) -> Vec<String> {
    let foreign = MACHINES.iter().filter(|machine| machine.home != source.path);
    let complaints = foreign.flat_map(|machine| {
        let mut reader = Reader { source, machine, complaints: Vec::new() };
        reader.visit_file(&source.syntax);
        reader.complaints
    });
    complaints.collect()
}

impl Machine {
    fn is_view(&self, path: &str) -> bool {
        self.views.contains(&path)
    }

    fn is_step(&self, path: &str) -> bool {
        self.steps
            .iter()
            .any(|step| if step.ends_with('/') { path.starts_with(step) } else { path == *step })
    }
}

/// Reads a file that is not the machine's home.
struct Reader<'a> {
    source: &'a Source,
    machine: &'a Machine,
    complaints: Vec<String>,
}

impl Reader<'_> {
    fn is_machine(&self, kind: &Type) -> bool {
        match kind {
            Type::Path(kind) => {
                kind.path.segments.last().is_some_and(|last| last.ident == self.machine.name)
            }
            Type::Reference(kind) => self.is_machine(&kind.elem),
            Type::Paren(kind) => self.is_machine(&kind.elem),
            Type::Group(kind) => self.is_machine(&kind.elem),
            _ => false,
        }
    }

    fn complain(&mut self, line: usize, breach: &str) {
        if !self.source.is_test(line) {
            let (path, home) = (&self.source.path, self.machine.home);
            self.complaints.push(format!("{path}:{line} has {breach}, which belongs into {home}"));
        }
    }
}

impl<'a> Visit<'a> for Reader<'_> {
    fn visit_item_impl(&mut self, block: &'a ItemImpl) {
        if self.is_machine(&block.self_ty) && !self.machine.is_view(&self.source.path) {
            let breach = format!("an `impl` of `{}`", self.machine.name);
            self.complain(block.impl_token.span.start().line, &breach);
        }
        visit::visit_item_impl(self, block);
    }

    fn visit_receiver(&mut self, receiver: &'a Receiver) {
        let is_view = self.machine.is_view(&self.source.path);
        if is_view && receiver.reference.is_some() && receiver.mutability.is_some() {
            self.complain(receiver.self_token.span.start().line, "a method with `&mut self`");
        }
        visit::visit_receiver(self, receiver);
    }

    fn visit_type_reference(&mut self, reference: &'a TypeReference) {
        let is_step = self.machine.is_step(&self.source.path);
        if !is_step && reference.mutability.is_some() && self.is_machine(&reference.elem) {
            let breach = format!("a `&mut {}`", self.machine.name);
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

#[test]
fn a_step_may_change_its_machine_but_has_no_method_of_it() {
    let found = |path: &str, text: &str| breaches(&Source::parse(path, text));
    for step in ["shared/core/src/run/transition.rs", "shared/core/src/run/transition/people.rs"] {
        none(found(step, "fn f(run: &mut Run) {}"));
        one(found(step, "impl Run { fn f(&self) {} }"), "an `impl` of `Run`");
        one(found(step, "fn f<P>(driver: &mut Driver<P>) {}"), "a `&mut Driver`");
    }
    for other in ["shared/core/src/run/transition_log.rs", "shared/core/src/transition.rs"] {
        one(found(other, "fn f(run: &mut Run) {}"), "a `&mut Run`");
    }
}
