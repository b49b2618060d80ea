//! The modules of a crate, and what each of them names in the others.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, UseTree, VisRestricted};

use super::source::Source;

/// Where a module stands in its crate: the names from the root, none for the root itself.
pub(super) type ModulePath = Vec<String>;

/// The most imports that are followed from a name to its definition.
const MAX_IMPORTS: usize = 8;

/// One place that names something of the same crate.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    pub(super) from: ModulePath,
    /// The module that defines what is named, however often it was imported on the way.
    pub(super) to: ModulePath,
    /// The path as it stands there, but with each `super` and `self` replaced.
    pub(super) path: String,
    /// The file and line of the path.
    pub(super) place: String,
}

/// What one module brings.
#[derive(Default)]
struct Module {
    /// The names of the items that are written in it.
    defined: BTreeSet<String>,
    /// Names it takes from elsewhere, and where in the crate they come from, if from there.
    imported: BTreeMap<String, Option<ModulePath>>,
    /// The paths of which it takes all.
    globs: Vec<ModulePath>,
}

/// The modules of one crate.
pub(super) struct ModuleTree {
    modules: BTreeMap<ModulePath, Module>,
    named: Vec<NamedPath>,
}

/// A path from the crate's root, and the module and place that name it.
struct NamedPath {
    from: ModulePath,
    path: ModulePath,
    place: String,
}

impl ModuleTree {
    /// Reads the sources of the crate at a directory, such as `shared/core`.
    pub(super) fn read(sources: &[Source], directory: &str) -> Self {
        let below = format!("{directory}/src/");
        let files: Vec<_> = sources
            .iter()
            .filter_map(|source| Some((module_of(source.path.strip_prefix(&below)?), source)))
            .collect();
        let mut tree = Self { modules: BTreeMap::new(), named: Vec::new() };
        for (module, source) in &files {
            tree.modules.entry(module.clone()).or_default();
            tree.add_inline_modules(module, source, &source.syntax.items);
        }
        for (module, source) in files {
            let mut reader = Reader { tree: &mut tree, source, module };
            reader.visit_file(&source.syntax);
        }
        tree
    }

    /// Everything that names an item of another module.
    pub(super) fn references(&self) -> Vec<Reference> {
        let named = self.named.iter().filter_map(|named| {
            let to = self.defining_module(&named.path, MAX_IMPORTS)?;
            let (from, place) = (named.from.clone(), named.place.clone());
            let path = format!("crate::{}", named.path.join("::"));
            (from != to).then_some(Reference { from, to, path, place })
        });
        named.collect()
    }

    fn add_inline_modules(&mut self, module: &[String], source: &Source, items: &[Item]) {
        for item in items {
            let Item::Mod(ItemMod { ident, content: Some((_, items)), .. }) = item else {
                continue;
            };
            if !source.is_test(ident.span().start().line) {
                let inner = joined(module, &ident.to_string());
                self.modules.entry(inner.clone()).or_default();
                self.add_inline_modules(&inner, source, items);
            }
        }
    }

    /// The module in which the item of a path is written. `None` if it is of another crate.
    fn defining_module(&self, path: &[String], imports: usize) -> Option<ModulePath> {
        let mut module = ModulePath::new();
        for (at, name) in path.iter().enumerate() {
            let child = joined(&module, name);
            if self.modules.contains_key(&child) {
                module = child;
                continue;
            }
            let names = self.modules.get(&module)?;
            if names.defined.contains(name) || imports == 0 {
                return Some(module);
            }
            let globs = names.globs.iter().filter(|glob| self.has_name(glob, name));
            let through_glob = globs.map(|glob| Some(joined(glob, name))).next();
            let Some(origin) = names.imported.get(name).cloned().or(through_glob) else {
                return Some(module);
            };
            let path: Vec<_> = origin?.into_iter().chain(path[at + 1..].to_vec()).collect();
            return self.defining_module(&path, imports - 1);
        }
        Some(module)
    }

    fn has_name(&self, module: &[String], name: &str) -> bool {
        self.modules.get(module).is_some_and(|module| {
            module.defined.contains(name) || module.imported.contains_key(name)
        })
    }
}

fn joined(path: &[String], name: &str) -> ModulePath {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

/// The module of a file, by its path below `src`.
fn module_of(file: &str) -> ModulePath {
    let path = file.trim_end_matches(".rs");
    let is_root = matches!(path, "lib" | "main");
    path.split('/').filter(|_| !is_root).map(str::to_owned).collect()
}

/// Reads one file, and knows which module it is in.
struct Reader<'a> {
    tree: &'a mut ModuleTree,
    source: &'a Source,
    module: ModulePath,
}

impl Reader<'_> {
    /// A path from the crate's root. `None` if it begins in another crate, or at a name that was
    /// imported, which is a reference of its own.
    fn absolute(&self, path: &[String]) -> Option<ModulePath> {
        let (first, mut rest) = path.split_first()?;
        let mut start = match first.as_str() {
            "crate" => ModulePath::new(),
            "self" => self.module.clone(),
            "super" => parent(&self.module),
            name => {
                let child = joined(&self.module, name);
                return self
                    .tree
                    .modules
                    .contains_key(&child)
                    .then(|| self.module.iter().chain(path).cloned().collect());
            }
        };
        while let Some((first, after)) = rest.split_first()
            && first == "super"
        {
            (start, rest) = (parent(&start), after);
        }
        start.extend_from_slice(rest);
        Some(start)
    }

    fn add_path(&mut self, path: &[String], line: usize) {
        if let Some(path) = self.absolute(path)
            && !self.source.is_test(line)
        {
            let place = format!("{}:{line}", self.source.path);
            self.tree.named.push(NamedPath { from: self.module.clone(), path, place });
        }
    }

    fn add_definition(&mut self, name: &syn::Ident) {
        if let Some(module) = self.tree.modules.get_mut(&self.module) {
            module.defined.insert(name.to_string());
        }
    }

    fn add_imports(&mut self, tree: &UseTree, before: &[String]) {
        match tree {
            UseTree::Path(tree) => {
                self.add_imports(&tree.tree, &joined(before, &name(&tree.ident)));
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_imports(tree, before));
            }
            UseTree::Glob(glob) => {
                self.add_path(before, glob.star_token.spans[0].start().line);
                let origin = self.absolute(before);
                let module = self.tree.modules.get_mut(&self.module);
                module.into_iter().for_each(|module| module.globs.extend(origin.clone()));
            }
            UseTree::Name(tree) => self.add_import(before, &tree.ident, &tree.ident),
            UseTree::Rename(tree) => self.add_import(before, &tree.ident, &tree.rename),
        }
    }

    fn add_import(&mut self, before: &[String], ident: &syn::Ident, local: &syn::Ident) {
        let path = match name(ident).as_str() {
            "self" => before.to_vec(),
            name => joined(before, name),
        };
        self.add_path(&path, ident.span().start().line);
        let origin = self.absolute(&path);
        let local = if local == "self" { path.last().cloned() } else { Some(name(local)) };
        if let (Some(module), Some(local)) = (self.tree.modules.get_mut(&self.module), local) {
            module.imported.insert(local, origin);
        }
    }

    /// Paths within a macro's words, which `syn` does not read.
    fn add_tokens(&mut self, stream: TokenStream) {
        let tokens: Vec<_> = stream.into_iter().collect();
        let is_colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(sign)) if sign.as_char() == ':');
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Group(group) => self.add_tokens(group.stream()),
                TokenTree::Ident(first) => {
                    let mut path = vec![name(first)];
                    while is_colon(at)
                        && is_colon(at + 1)
                        && let Some(TokenTree::Ident(next)) = tokens.get(at + 2)
                    {
                        path.push(name(next));
                        at += 3;
                    }
                    if path.len() > 1 {
                        self.add_path(&path, first.span().start().line);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The name of an identifier, without the `r#` of one that is a keyword.
fn name(ident: &syn::Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

fn parent(module: &[String]) -> ModulePath {
    module.split_last().map(|(_, before)| before.to_vec()).unwrap_or_default()
}

impl<'a> Visit<'a> for Reader<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        match item {
            Item::Const(item) => self.add_definition(&item.ident),
            Item::Enum(item) => self.add_definition(&item.ident),
            Item::Fn(item) => self.add_definition(&item.sig.ident),
            Item::Static(item) => self.add_definition(&item.ident),
            Item::Struct(item) => self.add_definition(&item.ident),
            Item::Trait(item) => self.add_definition(&item.ident),
            Item::Type(item) => self.add_definition(&item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'a ItemMod) {
        if module.content.is_some() && !self.source.is_test(module.ident.span().start().line) {
            self.module.push(name(&module.ident));
            visit::visit_item_mod(self, module);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if !self.source.is_test(item.use_token.span.start().line) {
            self.add_imports(&item.tree, &[]);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        if let Some(first) = path.segments.first() {
            let names: Vec<_> = path.segments.iter().map(|segment| name(&segment.ident)).collect();
            if names.len() > 1 && path.leading_colon.is_none() {
                self.add_path(&names, first.ident.span().start().line);
            }
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.add_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, _: &'a Attribute) {}

    fn visit_vis_restricted(&mut self, _: &'a VisRestricted) {}
}
