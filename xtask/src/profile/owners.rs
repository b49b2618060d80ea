//! Assigns samples and symbols to owners.

use std::collections::BTreeMap;

use serde_json::Value;

/// Crates whose work is charged to their caller.
const LIBRARIES: [&str; 8] =
    ["allocation_counter", "alloc", "core", "libc", "memchr", "mimalloc", "rustc", "std"];

/// Amounts of samples, by owner.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Samples {
    /// By the nearest crate that is neither the standard library nor an allocator.
    pub(super) by_crate: Vec<(String, u64)>,
    /// By the nearest function of Djinn; by crate in tasks of others.
    pub(super) by_function: Vec<(String, u64)>,
}

impl Samples {
    /// Parses the output of `perf script -F ip,sym,dso`: a frame a line, the innermost first, and an empty line between
    /// samples.
    pub(super) fn parse(script: &str) -> Self {
        let mut samples = Self::default();
        for stack in script.split("\n\n") {
            samples.add_stack(&stack.lines().filter_map(symbol_of).collect::<Vec<_>>(), 1);
        }
        samples
    }

    /// Parses the allocated bytes in a file of valgrind's DHAT.
    pub(super) fn parse_dhat(file: &Value) -> Self {
        let mut samples = Self::default();
        let frame_name = |frame: &Value| {
            let line = file.get("ftbl")?.get(usize::try_from(frame.as_u64()?).ok()?)?.as_str()?;
            symbol_of(line)
        };
        for point in file.get("pps").and_then(Value::as_array).into_iter().flatten() {
            let stack = point.get("fs").and_then(Value::as_array).into_iter().flatten();
            let bytes = point.get("tb").and_then(Value::as_u64).unwrap_or_default();
            samples.add_stack(&stack.filter_map(frame_name).collect::<Vec<_>>(), bytes);
        }
        samples
    }

    /// Adds a stack, the innermost frame first. Frames of the standard library alone have no owner.
    fn add_stack(&mut self, frames: &[&str], amount: u64) {
        let mut names = frames.iter().map(|frame| crate_name(frame));
        let Some(owner) = names.find(|name| !LIBRARIES.contains(name)) else { return };
        self.by_crate.push((owner.to_owned(), amount));
        let ours = frames.iter().find(|frame| is_ours(crate_name(frame)));
        let function = ours.map_or_else(|| format!("({owner})"), |frame| function_name(frame));
        self.by_function.push((function, amount));
    }
}

/// Returns the symbol of a frame's line; the kernel's symbols all become one.
fn symbol_of(line: &str) -> Option<&str> {
    let (_, symbol) = line.trim().split_once(' ')?;
    if symbol.ends_with("([kernel.kallsyms])") {
        return Some("kernel");
    }
    Some(symbol.rsplit_once(" (").map_or(symbol, |(name, _)| name))
}

/// Returns the crate of a symbol, or the library of a symbol of C.
pub(super) fn crate_name(symbol: &str) -> &str {
    let path = symbol.trim_start_matches(['<', '&', '*', '(', '[', '_']);
    let path = ["dyn ", "mut ", "const ", "impl "]
        .iter()
        .fold(path, |path, word| path.strip_prefix(word).unwrap_or(path));
    match path.split_once("::") {
        Some((name, _)) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => name,
        Some(_) => "core",
        None if path == "kernel" => "kernel",
        None if path.starts_with("mi_") => "mimalloc",
        None if path.starts_with("aws_lc") => "aws_lc_sys",
        None if path.starts_with("sqlite3") => "sqlite3",
        None => "libc",
    }
}

fn is_ours(name: &str) -> bool {
    name.starts_with("djinn_") || name == "agent"
}

/// Returns the name of a function without its closures and its hash.
fn function_name(symbol: &str) -> String {
    let name = match symbol.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 => name,
        Some(_) | None => symbol,
    };
    name.replace("::{{closure}}", "")
}

/// Returns lines with the largest owners, each with its amount and its share of the total in percent.
pub(super) fn largest(owners: Vec<(String, u64)>, shown: usize) -> Vec<String> {
    let mut amounts = BTreeMap::<String, u64>::new();
    for (owner, amount) in owners {
        *amounts.entry(owner).or_default() += amount;
    }
    let total = amounts.values().sum::<u64>().max(1);
    let mut ranked: Vec<(String, u64)> = amounts.into_iter().collect();
    ranked.sort_by_key(|(_, amount)| std::cmp::Reverse(*amount));
    let line = |(owner, amount): (String, u64)| {
        format!("{amount:>12} {:>5.1} %  {owner}", amount as f64 * 100.0 / total as f64)
    };
    ranked.into_iter().take(shown).map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SCRIPT: &str = "\
    7f01 mi_malloc (/target/djinn-bench)
    7f02 alloc::vec::Vec<T>::with_capacity (/target/djinn-bench)
    7f03 minijinja::vm::eval (/target/djinn-bench)
    7f04 djinn_runtime::prompt::Prompts::render::{{closure}} (/target/djinn-bench)

    ff01 tcp_sendmsg ([kernel.kallsyms])
    7f05 <hyper::proto::h1::Conn<I,B,T> as core::future::future::Future>::poll (/target/djinn-bench)
";

    #[test]
    fn a_sample_belongs_to_the_nearest_crate_and_to_the_nearest_function_of_ours() {
        let of = |owners: &[(&str, u64)]| -> Vec<(String, u64)> {
            owners.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect()
        };
        let samples = Samples::parse(SCRIPT);
        assert_eq!(samples.by_crate, of(&[("minijinja", 1), ("kernel", 1)]));
        let render = "djinn_runtime::prompt::Prompts::render";
        assert_eq!(samples.by_function, of(&[(render, 1), ("(kernel)", 1)]));
        let file = json!({
            "ftbl": [
                "[root]",
                "0x1: malloc (in /usr/lib/libc.so)",
                "0x2: alloc::alloc::alloc::h0123456789abcdef (in /target/it)",
                "0x3: djinn_core::run::Run::due::h0123456789abcdef (in /target/it)",
            ],
            "pps": [{"tb": 640, "fs": [1, 2, 3]}, {"tb": 8, "fs": [1]}],
        });
        let samples = Samples::parse_dhat(&file);
        assert_eq!(samples.by_crate, of(&[("djinn_core", 640)]));
        assert_eq!(samples.by_function, of(&[("djinn_core::run::Run::due", 640)]));
    }

    #[test]
    fn symbols_name_their_crates() {
        for (symbol, name) in [
            ("<&mut serde_json::ser::Serializer<W> as serde::Serializer>::f", "serde_json"),
            ("<[T] as core::fmt::Debug>::fmt", "core"),
            ("_mi_page_free", "mimalloc"),
            ("aws_lc_0_32_SHA256", "aws_lc_sys"),
            ("memcpy", "libc"),
        ] {
            assert_eq!(crate_name(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn the_largest_owners_come_first_with_their_shares() {
        let owners = [("a", 1), ("b", 2), ("a", 5)].map(|(name, n)| (name.to_owned(), n)).to_vec();
        assert_eq!(largest(owners, 1), ["           6  75.0 %  a"]);
    }
}
