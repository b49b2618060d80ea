//! `cargo xtask key`: makes an API key.

use anyhow::{Context as _, Result, bail};
use djinn_core::api_key::{KEY_BYTES, KeyHash, KeyHolder, format_key};
use djinn_core::id::{TenantId, UserId};

use crate::terminal::print_line;

/// Shows a new key, which is kept nowhere, and the member of `DJINN_API_KEYS` that knows it.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let (tenant, user) = parse_holder(words)?;
    let mut chance = [0; KEY_BYTES];
    getrandom::fill(&mut chance).context("the operating system gives no chance")?;
    print_line(&make_key(&chance, tenant, user)?);
    Ok(())
}

fn parse_holder(words: &[&str]) -> Result<(TenantId, UserId)> {
    let (["--tenant", tenant, "--user", user] | ["--user", user, "--tenant", tenant]) = words
    else {
        bail!("say whose it is: cargo xtask key --tenant T --user U");
    };
    Ok((TenantId::new(*tenant)?, UserId::new(*user)?))
}

fn make_key(chance: &[u8; KEY_BYTES], tenant: TenantId, user: UserId) -> Result<String> {
    let key = format_key(chance);
    let sha256 = KeyHash::of(&key).context("a key that was made is none")?;
    let line = serde_json::to_string(&KeyHolder { sha256, tenant, user })?;
    Ok(format!(
        "The key. Hand it over now, it is not kept:\n\n  {key}\n\n\
         What is kept of it. Put it into the JSON list of DJINN_API_KEYS, or of the secret named there:\n\n  {line}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_once_beside_a_line_that_knows_it() {
        let (tenant, user) = parse_holder(&["--user", "anna", "--tenant", "acme"]).unwrap();
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
            assert!(parse_holder(words).is_err(), "{words:?}");
        }
    }
}
