//! The ids of tool calls for providers. Our ids are derived, so a provider's own ids are not kept.

use djinn_core::id::{CallId, CallName, MessageName, Path, sha256_hex};

/// Returns nine letters and digits, valid for every provider: Mistral requires exactly nine, Anthropic
/// `^[a-zA-Z0-9_-]+$`. `t3.c1` becomes `c00003001` and `summary.c1` `s00000001`; a higher turn or call
/// becomes a hash.
pub(crate) fn wire_id(call: &CallId) -> String {
    let text = call.to_string();
    short_id(call).unwrap_or_else(|| sha256_hex(text.as_bytes()).chars().take(9).collect())
}

/// Returns the short form of a run's own call.
fn short_id(call: &CallId) -> Option<String> {
    if *call.path() != Path::default() {
        return None;
    }
    let CallName { message, index } = *call.name();
    match message {
        MessageName::Summary => (index < 100_000_000).then(|| format!("s{index:08}")),
        MessageName::Turn(turn) => {
            (turn < 100_000 && index < 1_000).then(|| format!("c{turn:05}{index:03}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_nine_letters_and_digits_and_differ() {
        let calls = [
            "t3.c1",
            "t31.c1",
            "t3.c11",
            "summary.c1",
            "t99999.c999",
            "t100000.c1",
            "t1.c1000",
            "t4294967295.c4294967295",
        ];
        let ids: Vec<_> = calls.iter().map(|id| wire_id(&CallId::new(*id).unwrap())).collect();
        assert_eq!(ids[0], "c00003001");
        assert_eq!(ids[3], "s00000001");
        for id in &ids {
            assert_eq!(id.len(), 9, "{id}");
            assert!(id.bytes().all(|b| b.is_ascii_alphanumeric()), "{id}");
        }
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    }
}
