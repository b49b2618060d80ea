//! Writes the token tables as their bare bytes: compressed, they take little more than half of what
//! the base64 within `tiktoken-rs` does, and the function's archive is that much smaller.

use std::error::Error;
use std::path::Path;

use tiktoken_rs::{CoreBPE, cl100k_base, o200k_base};

#[allow(clippy::print_stdout, reason = "it is how a build script speaks to cargo")]
#[allow(clippy::disallowed_methods, reason = "cargo says in the environment where to write")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var("OUT_DIR")?;
    write(Path::new(&out), "cl100k", &cl100k_base()?)?;
    write(Path::new(&out), "o200k", &o200k_base()?)
}

fn write(out: &Path, name: &str, encoding: &CoreBPE) -> Result<(), Box<dyn Error>> {
    let (mut lengths, mut tokens) = (Vec::new(), Vec::new());
    // The ranks of special tokens do not follow at once.
    for rank in 0.. {
        let Ok(token) = encoding.decode_bytes(&[rank]) else { break };
        lengths.push(u8::try_from(token.len())?);
        tokens.extend(token);
    }
    std::fs::write(out.join(format!("{name}.lengths")), lengths)?;
    std::fs::write(out.join(format!("{name}.tokens")), tokens)?;
    Ok(())
}
