//! `cargo xtask key`: makes an API key.

use agent::{KEY_BYTES, KeyHash, KeyHolder, format_key};
use anyhow::{Context as _, Result};
use djinn_core::id::{TenantId, UserId};

use crate::terminal::print_line;

/// Whose key it is.
#[derive(clap::Args)]
pub(crate) struct KeyArguments {
    #[arg(long, value_parser = |name: &str| TenantId::new(name))]
    tenant: TenantId,
    #[arg(long, value_parser = |name: &str| UserId::new(name))]
    user: UserId,
}

/// Prints a new key, which is stored nowhere, and the key's item for `DJINN_API_KEYS`.
pub(crate) fn run(KeyArguments { tenant, user }: KeyArguments) -> Result<()> {
    let mut chance = [0; KEY_BYTES];
    getrandom::fill(&mut chance).context("the operating system provides no random bytes")?;
    print_line(&make_key(&chance, tenant, user)?);
    Ok(())
}

fn make_key(chance: &[u8; KEY_BYTES], tenant: TenantId, user: UserId) -> Result<String> {
    let key = format_key(chance);
    let sha256 = KeyHash::of(&key).context("a key that was made is none")?;
    let line = serde_json::to_string(&KeyHolder { sha256, tenant, user })?;
    Ok(format!(
        "The key. Copy it now: it is not stored.\n\n  {key}\n\n\
         Its entry for the JSON list in DJINN_API_KEYS, or in the secret that DJINN_API_KEYS names:\n\n  {line}"
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        key: KeyArguments,
    }

    fn parse(words: &[&str]) -> Result<KeyArguments, clap::Error> {
        Words::try_parse_from(["key"].iter().chain(words)).map(|words| words.key)
    }

    #[test]
    fn a_key_is_shown_once_beside_a_line_that_knows_it() {
        let words = ["--user", "anna", "--tenant", "acme"];
        let KeyArguments { tenant, user } = parse(&words).unwrap();
        let shown = make_key(&[3; KEY_BYTES], tenant, user).unwrap();
        let key = format_key(&[3; KEY_BYTES]);
        assert_eq!(shown.matches(&key).count(), 1, "{shown}");
        let line = shown.lines().last().unwrap();
        let kept: KeyHolder = serde_json::from_str(line).unwrap();
        assert!(kept.sha256.matches(&KeyHash::of(&key).unwrap()));
        assert_eq!((kept.tenant.as_str(), kept.user.as_str()), ("acme", "anna"));
    }

    #[test]
    fn a_key_of_nobody_is_not_made() {
        for words in [&[][..], &["--tenant", "acme"], &["--tenant", "a#b", "--user", "anna"]] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
