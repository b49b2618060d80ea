//! The ids of tool calls for providers. Our ids are derived, so a provider's own ids are not kept.

use djinn_core::id::{CallId, CallName, MessageName, Path, sha256_hex};

/// Returns nine letters and digits, valid for every provider: Mistral requires exactly nine, Anthropic
/// `^[a-zA-Z0-9_-]+$`. `t3.c1` becomes `c00003001` and `summary.c1` `s00000001`; a higher turn or call
/// becomes a hash.
pub(crate) fn wire_id(call: &CallId) -> String {
    let is_of_run = *call.path() == Path::default();
    let CallName { message, index } = *call.name();
    match message {
        MessageName::Summary if is_of_run && index < 100_000_000 => format!("s{index:08}"),
        MessageName::Turn(turn) if is_of_run && turn < 100_000 && index < 1_000 => {
            format!("c{turn:05}{index:03}")
        }
        _ => sha256_hex(call.to_string().as_bytes()).chars().take(9).collect(),
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
