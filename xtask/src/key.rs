//! `cargo xtask key`: makes an API key.

use anyhow::{Context as _, Result, bail};
use djinn_core::api_key::{KEY_BYTES, KeyHash, KeyHolder, key_of};
use djinn_core::id::{TenantId, UserId};

use crate::terminal::say;

/// Shows a new key, which is kept nowhere, and the member of `DJINN_API_KEYS` that knows it.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let (tenant, user) = holder(words)?;
    let mut chance = [0; KEY_BYTES];
    getrandom::fill(&mut chance).context("the operating system gives no chance")?;
    say(&made(&chance, tenant, user)?);
    Ok(())
}

fn holder(words: &[&str]) -> Result<(TenantId, UserId)> {
    let (["--tenant", tenant, "--user", user] | ["--user", user, "--tenant", tenant]) = words
    else {
        bail!("say whose it is: cargo xtask key --tenant T --user U");
    };
    Ok((TenantId::new(*tenant)?, UserId::new(*user)?))
}

fn made(chance: &[u8; KEY_BYTES], tenant: TenantId, user: UserId) -> Result<String> {
    let key = key_of(chance);
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
        let (tenant, user) = holder(&["--user", "anna", "--tenant", "acme"]).unwrap();
        let shown = made(&[3; KEY_BYTES], tenant, user).unwrap();
        let key = key_of(&[3; KEY_BYTES]);
        assert_eq!(shown.matches(&key).count(), 1, "{shown}");
        let line = shown.lines().last().unwrap();
        let kept: KeyHolder = serde_json::from_str(line).unwrap();
        assert!(kept.sha256.matches(&KeyHash::of(&key).unwrap()));
        assert_eq!((kept.tenant.as_str(), kept.user.as_str()), ("acme", "anna"));
    }

    #[test]
    fn a_key_of_nobody_is_not_made() {
        for words in [&[][..], &["--tenant", "acme"], &["--tenant", "a#b", "--user", "anna"]] {
            assert!(holder(words).is_err(), "{words:?}");
        }
    }
}
