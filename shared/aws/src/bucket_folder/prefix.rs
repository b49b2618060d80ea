//! Valid prefixes for a deployment's texts in the bucket.

/// The start of every prefix: read-only for the functions.
const ROOT: &str = "config/";

/// The most bytes of a prefix.
const MAX_PREFIX: usize = 200;

/// The error for a text that is not a prefix below `config/`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a prefix of the bucket begins with `config/`, with names of a-z A-Z 0-9 _ - . below it")]
pub struct InvalidPrefix;

/// Parses a prefix, and adds a final `/`.
pub(super) fn parse_prefix(text: &str) -> Result<String, InvalidPrefix> {
    let prefix = text.strip_suffix('/').unwrap_or(text);
    let below = prefix.strip_prefix(ROOT).ok_or(InvalidPrefix)?;
    let is_prefix = prefix.len() <= MAX_PREFIX && below.split('/').all(is_segment);
    if is_prefix { Ok(format!("{prefix}/")) } else { Err(InvalidPrefix) }
}

/// Splits a path into the prefix and the text's name; the prefix may be the root.
pub(super) fn parse_path(text: &str) -> Result<(String, String), InvalidPrefix> {
    let (place, name) = text.rsplit_once('/').ok_or(InvalidPrefix)?;
    if !is_segment(name) || name.starts_with('.') {
        return Err(InvalidPrefix);
    }
    let prefix = match format!("{place}/") {
        root if root == ROOT => root,
        _ => parse_prefix(place)?,
    };
    Ok((prefix, name.to_owned()))
}

fn is_segment(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    !name.is_empty() && !name.bytes().all(|byte| byte == b'.') && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_lies_below_the_root_where_nobody_writes() {
        let parsed = |text| parse_path(text).map(|(prefix, name)| prefix + "|" + &name);
        assert_eq!(parsed("config/models.json"), Ok("config/|models.json".to_owned()));
        assert_eq!(parsed("config/a/models.json"), Ok("config/a/|models.json".to_owned()));
        for bad in
            ["models.json", "config", "config/", "config/..", "config//a", "other/a", "config/.a"]
        {
            assert_eq!(parsed(bad), Err(InvalidPrefix), "{bad}");
        }
    }

    #[test]
    fn a_prefix_is_where_nobody_writes() {
        for good in
            ["config/agents", "config/agents/", "config/team-a/v1.2/own_agents", "config/files"]
        {
            let expected = format!("{}/", good.trim_end_matches('/'));
            assert_eq!(parse_prefix(good), Ok(expected));
        }
        let long = format!("config/{}", "a".repeat(MAX_PREFIX));
        for bad in [
            "",
            "config",
            "config/",
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
