//! Writes the token table as pairs: each token as two earlier ones that it is made of. Compressed, that takes
//! three quarters of what its bytes do and less than half of what the base64 within `tiktoken-rs` does, and the
//! function's archive is that much smaller.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use tiktoken_rs::{CoreBPE, O200K_BASE_PAT_STR, Rank, o200k_base};

#[allow(clippy::print_stdout, reason = "it is how a build script speaks to cargo")]
#[allow(clippy::disallowed_methods, reason = "cargo says in the environment where to write")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var("OUT_DIR")?;
    let out = Path::new(&out);
    std::fs::write(out.join("o200k.pairs"), table(&o200k_base()?)?)?;
    std::fs::write(out.join("o200k.words"), O200K_BASE_PAT_STR)?;
    Ok(())
}

/// The 256 tokens of one byte, and then six columns of bytes, of which three are a number, lowest first: of
/// every other token the ranks of its first and its second half. All in the order of ranks.
fn table(encoding: &CoreBPE) -> Result<Vec<u8>, Box<dyn Error>> {
    // The ranks of special tokens do not follow at once.
    let tokens: Vec<Vec<u8>> =
        (0..).map_while(|rank| encoding.decode_bytes(&[rank]).ok()).collect();
    let (single, longer) = tokens.split_at_checked(256).ok_or("a byte has no token")?;
    if single.iter().any(|token| token.len() != 1) {
        return Err("the first tokens are not the bytes".into());
    }
    let ranks: HashMap<&[u8], Rank> = tokens.iter().map(Vec::as_slice).zip(0..).collect();
    let pairs = longer.iter().zip(256..).map(|(token, rank)| {
        let earlier = |half| ranks.get(half).copied().filter(|half| *half < rank);
        let cuts = (1..token.len()).filter_map(|cut| token.split_at_checked(cut));
        let pairs = cuts.filter_map(|(first, second)| Some([earlier(first)?, earlier(second)?]));
        // Of several that of the lowest ranks, which compress best.
        pairs.min_by_key(|[first, second]| first + second)
    });
    let pairs: Vec<[Rank; 2]> = pairs.collect::<Option<_>>().ok_or("a token has no halves")?;
    let mut table = single.concat();
    for half in [0, 1] {
        for byte in [0, 1, 2] {
            let of = |pair: &[Rank; 2]| pair.get(half)?.to_le_bytes().get(byte).copied();
            table.extend(pairs.iter().filter_map(of));
        }
    }
    Ok(table)
}
