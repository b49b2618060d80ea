//! Names that a stranger can read: types have one meaning, functions say what they do and on what, and
//! doc comments say more than the name does. The shares are those of well-kept Rust services
//! (s2, sdk-shared-core, rust-analyzer: 32 to 37 % of one word, under 1 % of participles).

use std::collections::BTreeMap;

use syn::visit::{self, Visit};
use syn::{ImplItem, ImplItemFn, Item, ItemFn, ItemImpl, Signature, Visibility};

use super::source::{Source, sources};
use super::{none, one};

/// Type names that each crate may have for itself.
const SHARED: [&str; 3] = ["Error", "Settings", "SettingsError"];

/// The most functions in a hundred whose name is one word.
const ONE_WORD: usize = 40;

/// The most functions in a hundred whose name is a bare participle.
const BARE: usize = 1;

/// Names that say what happened and not what is done.
const PARTICIPLES: &str = "added allowed answered asked begun bound broken built called changed charged checked \
    chosen claimed closed completed counted cut dealt decoded delayed delivered deleted denied \
    dispatched done drawn driven dropped edited encoded ended escaped expected failed fed fell \
    filled finished fitted folded followed forgotten found freed given gone granted handled heard \
    held hidden interrupted joined kept killed known led left lent limited listed loaded lost made \
    marked masked matched measured merged met missed missing moved named needed noted offered \
    opened owed owned paid parsed passed paused planned polled posted priced put quoted reached \
    read_by received recorded refused released renamed rendered replaced replied reserved resolved \
    resumed retried returned run_by said saved seen sent served settled shared shortened shown \
    signed skipped slept sold solved sorted spent split stolen stood stopped stored struck summed \
    taken taught told torn touched tried trimmed understood unfolded updated used verified waited \
    waiting wanted watched woken won worn wrapped written";

/// A function, method or trait function that somebody named: no implementation of a trait's.
struct Function {
    name: String,
    place: String,
}

/// What names one file brings.
struct Names<'a> {
    source: &'a Source,
    functions: Vec<Function>,
    types: Vec<(String, String)>,
}

impl<'a> Names<'a> {
    fn of(source: &'a Source) -> Self {
        let mut names = Self { source, functions: Vec::new(), types: Vec::new() };
        names.visit_file(&source.syntax);
        names
    }

    fn add_function(&mut self, signature: &Signature) {
        let (name, line) = (signature.ident.to_string(), signature.fn_token.span.start().line);
        if !["new", "of", "main"].contains(&name.as_str()) && !self.source.is_test(line) {
            self.functions.push(Function { name, place: format!("{}:{line}", self.source.path) });
        }
    }

    fn add_type(&mut self, visibility: &Visibility, name: &syn::Ident) {
        let line = name.span().start().line;
        let is_shown = !matches!(visibility, Visibility::Inherited) && !is_narrow(visibility);
        if is_shown && !self.source.is_test(line) {
            self.types.push((name.to_string(), format!("{}:{line}", self.source.path)));
        }
    }
}

/// Whether something is public within a part of its crate only.
fn is_narrow(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Restricted(to) if !to.path.is_ident("crate"))
}

impl<'a> Visit<'a> for Names<'a> {
    fn visit_item(&mut self, item: &'a Item) {
        match item {
            Item::Struct(item) => self.add_type(&item.vis, &item.ident),
            Item::Enum(item) => self.add_type(&item.vis, &item.ident),
            Item::Trait(item) => self.add_type(&item.vis, &item.ident),
            Item::Type(item) => self.add_type(&item.vis, &item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        self.add_function(&function.sig);
        visit::visit_item_fn(self, function);
    }

    fn visit_item_impl(&mut self, block: &'a ItemImpl) {
        if block.trait_.is_none() {
            for item in &block.items {
                if let ImplItem::Fn(ImplItemFn { sig, .. }) = item {
                    self.add_function(sig);
                }
            }
        }
        visit::visit_item_impl(self, block);
    }
}

#[test]
fn a_type_name_has_one_meaning() {
    none(repeated_types(&sources()));
}

#[test]
fn function_names_say_what_they_act_on() {
    none(unclear_functions(&sources()));
}

fn repeated_types(sources: &[Source]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, place) in sources.iter().flat_map(|source| Names::of(source).types) {
        places.entry(name).or_default().push(place);
    }
    let repeated = places
        .into_iter()
        .filter(|(name, places)| places.len() > 1 && !SHARED.contains(&name.as_str()));
    repeated.map(|(name, places)| format!("`{name}` is {}", places.join(" and "))).collect()
}

fn unclear_functions(sources: &[Source]) -> Vec<String> {
    let functions: Vec<_> = sources.iter().flat_map(|source| Names::of(source).functions).collect();
    let is_bare = |function: &&Function| {
        PARTICIPLES.split_whitespace().any(|participle| participle == function.name)
    };
    let bare: Vec<_> = functions.iter().filter(is_bare).collect();
    let one_word = functions.iter().filter(|function| !function.name.contains('_')).count();
    let mut complaints = Vec::new();
    if one_word * 100 > functions.len() * ONE_WORD {
        complaints.push(format!(
            "{one_word} of {} function names are one word, and {ONE_WORD} % are the most",
            functions.len()
        ));
    }
    if bare.len() * 100 > functions.len() * BARE {
        let places: Vec<_> =
            bare.iter().map(|function| format!("{} {}", function.place, function.name)).collect();
        complaints.push(format!(
            "{} names are bare participles: {}",
            bare.len(),
            places.join(", ")
        ));
    }
    complaints
}

#[test]
fn a_repeated_type_is_noticed_wherever_it_is_public() {
    let first =
        Source::parse("shared/a/src/a.rs", "pub struct Call;\nstruct Own;\npub enum Error {}");
    let other = |text| Source::parse("shared/b/src/b.rs", text);
    for text in ["pub(crate) enum Call {}", "pub trait Call {}", "mod m { pub type Call = u8; }"] {
        one(
            repeated_types(&[Source::parse("shared/a/src/a.rs", &first.text), other(text)]),
            "`Call` is",
        );
    }
    for text in ["struct Call;", "pub(super) struct Call;", "pub struct Error;", "pub struct Own;"]
    {
        none(repeated_types(&[Source::parse("shared/a/src/a.rs", &first.text), other(text)]));
    }
}

#[test]
fn unclear_names_are_noticed_and_those_of_traits_and_tests_do_not_count() {
    let unclear = |text: &str| unclear_functions(&[Source::parse("a.rs", text)]);
    let clear: String = (0..99).map(|n| format!("fn read_{n}() {{}}\n")).collect();
    none(unclear(&format!("{clear}fn read() {{}}\nfn told() {{}}")));
    one(
        unclear(&format!("{clear}fn told() {{}}\nfn shown() {{}}")),
        "a.rs:100 told, a.rs:101 shown",
    );
    one(unclear("fn read() {}\nfn write_all() {}"), "1 of 2 function names are one word");
    none(unclear("struct A;\nimpl B for A {\n    fn told(&self) {}\n}"));
    none(unclear("#[cfg(test)]\nmod tests {\n    fn told() {}\n}"));
    one(unclear("struct A;\nimpl A {\n    fn stop(&self) {}\n}"), "1 of 1 function names");
}
