//! Valid prefixes for a deployment's configuration in the bucket.

/// The root of every prefix: read-only for the functions.
const ROOT: &str = "config/";

/// The most bytes of a prefix.
const MAX_PREFIX: usize = 200;

/// The error for a text that is neither `config` nor a prefix below.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a prefix of the bucket is `config`, or lies below with names of a-z A-Z 0-9 _ - .")]
pub struct InvalidPrefix;

/// Parses a prefix, and adds a final `/`.
pub(super) fn parse_prefix(text: &str) -> Result<String, InvalidPrefix> {
    let prefix = format!("{}/", text.strip_suffix('/').unwrap_or(text));
    let below = prefix.strip_prefix(ROOT).ok_or(InvalidPrefix)?;
    let is_prefix = prefix.len() <= MAX_PREFIX && below.split_terminator('/').all(is_segment);
    if is_prefix { Ok(prefix) } else { Err(InvalidPrefix) }
}

fn is_segment(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    !name.is_empty() && !name.bytes().all(|byte| byte == b'.') && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_where_nobody_writes() {
        for good in [
            "config",
            "config/",
            "config/agents",
            "config/agents/",
            "config/team-a/v1.2/own_agents",
            "config/files",
        ] {
            let expected = format!("{}/", good.trim_end_matches('/'));
            assert_eq!(parse_prefix(good), Ok(expected));
        }
        let long = format!("config/{}", "a".repeat(MAX_PREFIX));
        for bad in [
            "",
            "configuration",
            "agents",
            "/config/agents",
            "config//agents",
            "config/../runs/a",
            "config/agents//",
            "config/.",
            "acme/config/agents",
            "config/a b",
            "config/价",
            &long,
        ] {
            assert_eq!(parse_prefix(bad), Err(InvalidPrefix), "{bad}");
        }
    }
}
