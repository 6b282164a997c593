//! The graph of imports: which file names what another file defines. A name is followed through `use`,
//! `pub use`, `self`, `super`, `crate` and the names of our crates to the file that defines it, wherever it
//! is written: at a file's head, inside a function, as a full path, in a macro or in an attribute. What is
//! compiled for tests only is left out. To name a module alone is no import; what is taken out of it is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item, UseTree};

/// Which file names what of another one.
pub(crate) struct Graph {
    files: Vec<String>,
    /// By the two files: the first name that was found, as it is written.
    edges: BTreeMap<(usize, usize), String>,
}

impl Graph {
    /// Reads the crates of the workspace at `root`: each folder with a manifest and a `src` in it.
    pub(crate) fn read(root: &Path) -> Self {
        let mut tree = Tree::default();
        for (name, entry) in entries(root) {
            tree.read_crate(root, &name, &entry);
        }
        tree.graph()
    }

    /// How many files were read.
    pub(crate) fn files(&self) -> usize {
        self.files.len()
    }

    /// Files that name each other in a circle, each group by itself.
    pub(crate) fn circles(&self) -> Vec<BTreeSet<String>> {
        let graph: DiGraphMap<usize, ()> = self.edges.keys().copied().collect();
        let groups = tarjan_scc(&graph).into_iter().filter(|group| group.len() > 1);
        let mut groups: Vec<BTreeSet<String>> =
            groups.map(|group| group.into_iter().map(|file| self.files[file].clone()).collect()).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        groups
    }

    /// What the files of a group name of each other, a line each.
    pub(crate) fn edges_within(&self, group: &BTreeSet<String>) -> Vec<String> {
        let inside = |file: usize| group.contains(&self.files[file]);
        let edges = self.edges.iter().filter(|((from, to), _)| inside(*from) && inside(*to));
        edges.map(|((from, to), name)| format!("{} -> {}: {name}", self.files[*from], self.files[*to])).collect()
    }
}

/// The roots of the crates under `root`, with their names in Rust: libraries, and programs of their own.
fn entries(root: &Path) -> Vec<(String, PathBuf)> {
    let mut folders = vec![root.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let name =
            manifest.lines().skip_while(|line| *line != "[package]").find_map(|line| line.strip_prefix("name = "));
        if let Some(name) = name {
            let name = name.trim_matches('"').replace('-', "_");
            for (file, name) in [("src/lib.rs", name.clone()), ("src/main.rs", format!("{name} (program)"))] {
                let entry = folder.join(file);
                if entry.exists() {
                    found.push((name, entry));
                }
            }
        }
        // Folders of crates stand at the root and at most one below.
        let depth = folder.strip_prefix(root).map_or(0, |below| below.components().count());
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let passed_over = ["src", "target", "tests", "examples", "fuzz", ".git", "docs", "packaging", "templates"];
            if depth < 3 && path.is_dir() && !passed_over.iter().any(|name| path.ends_with(name)) {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

#[derive(Default)]
struct Tree {
    modules: Vec<Module>,
    /// The root modules, by the names of their crates.
    crates: HashMap<String, usize>,
}

struct Module {
    file: String,
    root: usize,
    parent: Option<usize>,
    names: HashMap<String, Definition>,
    /// Paths of `use …::*`.
    globs: Vec<Vec<String>>,
    /// The paths that are written in it.
    mentions: BTreeSet<Vec<String>>,
}

#[derive(Clone)]
enum Definition {
    Here,
    Module(usize),
    /// Imported by this path.
    Import(Vec<String>),
}

#[derive(Clone, Copy)]
enum Found {
    Module(usize),
    /// Something that this module defines.
    Name(usize),
}

impl Tree {
    fn read_crate(&mut self, root: &Path, name: &str, entry: &Path) {
        let module = self.module(root, entry, None);
        self.crates.insert(name.to_owned(), module);
        let folder = entry.parent().unwrap_or(root).to_owned();
        self.read_file(root, module, entry, &folder);
    }

    fn module(&mut self, root: &Path, path: &Path, parent: Option<usize>) -> usize {
        let number = self.modules.len();
        let file = path.strip_prefix(root).unwrap_or(path).display().to_string();
        let crate_root = parent.map_or(number, |parent| self.modules[parent].root);
        self.modules.push(Module {
            file,
            root: crate_root,
            parent,
            names: HashMap::new(),
            globs: Vec::new(),
            mentions: BTreeSet::new(),
        });
        number
    }

    fn read_file(&mut self, root: &Path, module: usize, path: &Path, folder: &Path) {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.read_items(root, module, file.items, path, folder);
    }

    /// `folder` is where the files of the modules lie that are declared here.
    fn read_items(&mut self, root: &Path, module: usize, items: Vec<Item>, path: &Path, folder: &Path) {
        for item in items {
            if attributes(&item).iter().any(is_for_tests) {
                continue;
            }
            match item {
                Item::Mod(declared) => {
                    let name = declared.ident.to_string();
                    if let Some((_, items)) = declared.content {
                        let child = self.module(root, path, Some(module));
                        self.modules[module].names.insert(name.clone(), Definition::Module(child));
                        self.read_items(root, child, items, path, &folder.join(&name));
                        continue;
                    }
                    let beside = folder.join(format!("{name}.rs"));
                    let file = if beside.exists() { beside } else { folder.join(&name).join("mod.rs") };
                    let child = self.module(root, &file, Some(module));
                    self.modules[module].names.insert(name.clone(), Definition::Module(child));
                    self.read_file(root, child, &file, &folder.join(&name));
                }
                Item::Use(import) => self.import(module, &import.tree, &mut Vec::new()),
                item => {
                    if let Some(name) = defined(&item) {
                        self.modules[module].names.insert(name, Definition::Here);
                    }
                    self.scan(module, item.to_token_stream());
                }
            }
        }
    }

    fn import(&mut self, module: usize, tree: &UseTree, path: &mut Vec<String>) {
        match tree {
            UseTree::Path(step) => {
                path.push(step.ident.to_string());
                self.import(module, &step.tree, path);
                path.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(module, tree, path);
                }
            }
            UseTree::Glob(_) => {
                self.modules[module].globs.push(path.clone());
                // An enum's variants are taken out of the file that defines it.
                self.modules[module].mentions.insert(path.clone());
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                let (path, name) = match path.last() {
                    Some(last) if name == "self" => (path.clone(), last.clone()),
                    _ => ([path.clone(), vec![name.clone()]].concat(), name),
                };
                self.imported(module, path, name);
            }
            UseTree::Rename(renamed) => {
                let mut path = path.clone();
                if renamed.ident != "self" {
                    path.push(renamed.ident.to_string());
                }
                self.imported(module, path, renamed.rename.to_string());
            }
        }
    }

    fn imported(&mut self, module: usize, path: Vec<String>, name: String) {
        let module = &mut self.modules[module];
        module.mentions.insert(path.clone());
        module.names.entry(name).or_insert(Definition::Import(path));
    }

    /// Finds the paths in a stream of tokens.
    fn scan(&mut self, module: usize, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(each)) if each.as_char() == ':');
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Group(group) => self.scan(module, group.stream()),
                TokenTree::Literal(literal) => {
                    // Attributes name functions in texts.
                    let text = literal.to_string();
                    let path: Vec<String> = text.trim_matches('"').split("::").map(str::to_owned).collect();
                    if path.len() > 1
                        && path.iter().all(|step| syn::parse_str::<syn::Ident>(step).is_ok() || is_keyword(step))
                    {
                        self.modules[module].mentions.insert(path);
                    }
                }
                TokenTree::Punct(_) => {}
                TokenTree::Ident(ident) if ident == "use" => {
                    let rest = tokens[at - 1..].iter();
                    let mut statement: Vec<TokenTree> = Vec::new();
                    for token in rest {
                        statement.push(token.clone());
                        if matches!(token, TokenTree::Punct(each) if each.as_char() == ';') {
                            break;
                        }
                    }
                    if let Ok(import) = syn::parse2::<syn::ItemUse>(statement.iter().cloned().collect()) {
                        at += statement.len() - 1;
                        self.import(module, &import.tree, &mut Vec::new());
                    }
                }
                TokenTree::Ident(ident) => {
                    let mut path = vec![ident.to_string()];
                    while is_colon(at) && is_colon(at + 1) {
                        let Some(TokenTree::Ident(step)) = tokens.get(at + 2) else { break };
                        path.push(step.to_string());
                        at += 3;
                    }
                    self.modules[module].mentions.insert(path);
                }
            }
        }
    }

    /// What a path means in a module.
    fn resolve(&self, module: usize, path: &[String], depth: usize) -> Option<Found> {
        // A circle of imports by `*` names nothing.
        if depth > 24 {
            return None;
        }
        let (first, rest) = path.split_first()?;
        let mut found = match first.as_str() {
            "crate" => Found::Module(self.modules[module].root),
            "self" => Found::Module(module),
            "super" => Found::Module(self.modules[module].parent?),
            name => match self.lookup(module, name, depth + 1) {
                Some(found) => found,
                None => Found::Module(*self.crates.get(name)?),
            },
        };
        for step in rest {
            let Found::Module(inside) = found else { return Some(found) };
            found = match step.as_str() {
                "super" => Found::Module(self.modules[inside].parent?),
                "self" => found,
                name => self.lookup(inside, name, depth + 1)?,
            };
        }
        Some(found)
    }

    fn lookup(&self, module: usize, name: &str, depth: usize) -> Option<Found> {
        let here = &self.modules[module];
        match here.names.get(name) {
            Some(Definition::Here) => return Some(Found::Name(module)),
            Some(Definition::Module(child)) => return Some(Found::Module(*child)),
            // What is imported under its own name from a library must not be looked for in itself.
            Some(Definition::Import(path)) if path.len() > 1 => return self.resolve(module, path, depth + 1),
            _ => {}
        }
        if depth > 24 {
            return None;
        }
        here.globs.iter().find_map(|path| match self.resolve(module, path, depth + 1)? {
            Found::Module(from) if from != module => self.lookup(from, name, depth + 1),
            _ => None,
        })
    }

    fn graph(&self) -> Graph {
        let mut files: Vec<String> = self.modules.iter().map(|module| module.file.clone()).collect();
        files.sort();
        files.dedup();
        let number = |file: &String| files.binary_search(file).unwrap_or_default();
        let mut edges = BTreeMap::new();
        for (at, module) in self.modules.iter().enumerate() {
            for path in &module.mentions {
                if let Some(Found::Name(target)) = self.resolve(at, path, 0) {
                    let (from, to) = (number(&module.file), number(&self.modules[target].file));
                    if from != to {
                        edges.entry((from, to)).or_insert_with(|| path.join("::"));
                    }
                }
            }
        }
        Graph { files, edges }
    }
}

fn is_keyword(step: &str) -> bool {
    ["crate", "self", "super"].contains(&step)
}

fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.to_token_stream().to_string().replace(' ', "").starts_with("#[cfg(test")
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The name of what an item defines.
fn defined(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
