//! The owners of the agent's archive: sections of its program, and crates of the symbols in the sections.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::owners::{crate_name, largest};
use crate::process::{cargo_command, command_output, program_command, run};
use crate::terminal::print_line;
use crate::workspace;

/// A part of the program's file that is loaded at an address.
struct Section {
    name: String,
    address: usize,
    bytes: Vec<u8>,
}

/// A named range of addresses.
struct Symbol {
    address: usize,
    len: usize,
    name: String,
}

/// Builds the agent as it is deployed, but with symbols, and prints its largest owners.
///
/// # Errors
/// Returns an error if the build or a program of binutils fails.
pub(super) fn weigh_agent(shown: usize) -> Result<()> {
    let mut build = cargo_command(&["build", "--release", "--package", "agent"]);
    run(build.env("CARGO_PROFILE_RELEASE_STRIP", "false"))?;
    let program = workspace::profile_dir("release").join("agent");
    let sections = read_sections(&program)?;
    let nm = ["--print-size", "--radix=d", "--numeric-sort", "--demangle", "--defined-only"];
    let symbols = command_output(program_command("nm", &nm).arg(&program))?;
    let symbols: Vec<Symbol> = symbols.lines().filter_map(parse_symbol).collect();
    let by_section = sections.iter().map(|section| (section.name.clone(), section.bytes.clone()));
    print_parts("section", by_section.collect(), shown)?;
    print_parts("crate of the symbol", split_by_crate(&sections, &symbols), shown)
}

/// Prints the largest parts, by their size before and after compression. Parts are compressed separately.
fn print_parts(title: &str, parts: BTreeMap<String, Vec<u8>>, shown: usize) -> Result<()> {
    let bytes = parts.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect();
    let mut zipped_bytes = Vec::new();
    for (name, bytes) in parts {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&bytes)?;
        zipped_bytes.push((name, encoder.finish()?.len() as u64));
    }
    for (unit, owners) in [("zipped bytes", zipped_bytes), ("bytes", bytes)] {
        print_line(&format!("\n{unit}, {title}"));
        for line in largest(owners, shown) {
            print_line(&line);
        }
    }
    Ok(())
}

/// Reads the sections that a process loads from the file.
fn read_sections(program: &Path) -> Result<Vec<Section>> {
    let file = std::fs::read(program)?;
    let mut readelf = program_command("readelf", &["--sections", "--wide"]);
    let table = command_output(readelf.arg(program))?;
    let sections = table.lines().filter_map(parse_section);
    let sections = sections.map(|(name, address, offset, len)| {
        let bytes = file.get(offset..offset + len).context("a section is not in the file")?;
        Ok(Section { name, address, bytes: bytes.to_vec() })
    });
    sections.collect()
}

/// Parses name, address, offset and length from a line of readelf, for example
/// `  [12] .text  PROGBITS  00000000000a1000 0a1000 5b2f61 00  AX  0  0 16`.
fn parse_section(line: &str) -> Option<(String, usize, usize, usize)> {
    let (_, fields) = line.split_once(']')?;
    let mut fields = fields.split_whitespace();
    let name = fields.next()?.to_owned();
    let has_bytes = fields.next()? != "NOBITS";
    let mut numbers = fields.map_while(|field| usize::from_str_radix(field, 16).ok());
    let section = (name, numbers.next()?, numbers.next()?, numbers.next()?);
    (has_bytes && section.1 > 0).then_some(section)
}

/// Parses a line of nm: address and length in decimal, a letter for the kind, and the name.
fn parse_symbol(line: &str) -> Option<Symbol> {
    let mut fields = line.splitn(4, ' ');
    let address = fields.next()?.parse().ok()?;
    let len = fields.next()?.parse().ok()?;
    let name = fields.nth(1)?.to_owned();
    Some(Symbol { address, len, name })
}

/// Returns the bytes of each crate, and of each section outside symbols. Symbols are in the order of addresses; of
/// symbols with common bytes, the first is the owner.
fn split_by_crate(sections: &[Section], symbols: &[Symbol]) -> BTreeMap<String, Vec<u8>> {
    let mut parts = BTreeMap::<String, Vec<u8>>::new();
    for section in sections {
        let mut rest = section.bytes.as_slice();
        let mut address = section.address;
        for symbol in symbols {
            let Some(gap) = (symbol.address + symbol.len).checked_sub(address) else { continue };
            let before = symbol.address.saturating_sub(address);
            let (Some((unnamed, _)), Some((named, behind))) =
                (rest.split_at_checked(before), rest.split_at_checked(gap))
            else {
                break;
            };
            let outside = parts.entry(format!("({} without symbols)", section.name)).or_default();
            outside.extend(unnamed);
            let owner = parts.entry(crate_name(&symbol.name).to_owned()).or_default();
            owner.extend(named.iter().skip(before));
            rest = behind;
            address += gap;
        }
        parts.entry(format!("({} without symbols)", section.name)).or_default().extend(rest);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_of_a_section_has_one_owner() {
        let (name, address, offset, len) =
            parse_section("  [ 2] .text PROGBITS 0000000000000100 001000 00000a 00  AX  0   0 16")
                .unwrap();
        assert_eq!((name.as_str(), address, offset, len), (".text", 256, 4096, 10));
        assert!(
            parse_section("  [ 3] .bss NOBITS 0000000000000200 001010 00000a 00 WA 0 0 8")
                .is_none()
        );
        assert!(parse_section("  [Nr] Name Type Address Off Size ES Flg Lk Inf Al").is_none());
        let nm = "0000000000000100 0000000000000002 t before::the_section\n\
                  0000000000000257 0000000000000003 t djinn_core::run::Run::due\n\
                  0000000000000257 0000000000000003 T <djinn_agents::Read as core::fmt::Debug>::fmt\n\
                  0000000000000262 0000000000000002 t minijinja::vm::eval\n\
                  0000000000000400 0000000000000001 t behind::the_section";
        let symbols: Vec<Symbol> = nm.lines().filter_map(parse_symbol).collect();
        assert_eq!(symbols.len(), 5);
        let section = Section { name, address, bytes: (0..10).collect() };
        let parts = split_by_crate(&[section], &symbols);
        assert_eq!(parts["djinn_core"], [1, 2, 3]);
        assert_eq!(parts["minijinja"], [6, 7]);
        assert_eq!(parts["(.text without symbols)"], [0, 4, 5, 8, 9]);
    }
}
