//! The tool calls of a reply, assembled from pieces.

use djinn_core::input::RequestedCall;
use djinn_core::tool::ArgumentProblem;
use serde_json::Value;

use crate::repair::{MAX_ARGUMENTS, malformed_arguments, parse_arguments};
use crate::tool_names::ToolNames;

/// Maximum number of calls kept of one reply; the loop runs fewer.
const MAX_CALLS: usize = 256;
/// Maximum number of pieces kept of one name.
const MAX_NAME_PIECES: usize = 4096;

/// A piece of a call, with the fields sent by the provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CallPiece<'a> {
    pub(crate) index: Option<u64>,
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a str,
}

#[derive(Debug, Default)]
pub(crate) struct CallAssembler {
    calls: Vec<PartialCall>,
    last_index: usize,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    /// True if the pieces of the call came under several ids.
    ids_vary: bool,
    name: Vec<String>,
    arguments: String,
    balance: JsonBalance,
}

impl CallAssembler {
    /// Returns true if there are no calls.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds a piece to a call, matched by id and index, else by id, else by index, else the last call. A
    /// piece that clearly starts a new call is not merged.
    pub(crate) fn add_piece(&mut self, piece: CallPiece<'_>) {
        if piece.id.is_empty() && piece.name.is_empty() && piece.arguments.is_empty() {
            return;
        }
        let at = match self.find_owner(piece) {
            Some(at) => at,
            None if self.calls.len() >= MAX_CALLS => return,
            None => {
                self.calls.push(PartialCall { index: piece.index, ..PartialCall::default() });
                self.calls.len() - 1
            }
        };
        self.last_index = at;
        if let Some(call) = self.calls.get_mut(at) {
            call.append_piece(piece);
        }
    }

    /// Adds a call with complete arguments, as JSON instead of text.
    pub(crate) fn add_complete(&mut self, piece: CallPiece<'_>, value: &Value) {
        self.add_piece(CallPiece { arguments: &to_json_text(value), ..piece });
    }

    /// Adds a new call, or replaces the arguments of the call at `at`. Returns the call's index.
    pub(crate) fn set_call(
        &mut self,
        at: Option<usize>,
        id: &str,
        name: &str,
        text: &str,
    ) -> usize {
        let at = match at {
            Some(at) => at,
            None => {
                if self.calls.len() < MAX_CALLS {
                    self.calls.push(PartialCall::default());
                }
                self.calls.len().saturating_sub(1)
            }
        };
        if let Some(call) = self.calls.get_mut(at) {
            *call = PartialCall::default();
            call.append_piece(CallPiece { index: None, id, name, arguments: text });
        }
        at
    }

    /// Returns the number of calls.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns the position of the call with this id.
    pub(crate) fn position_of(&self, id: &str) -> Option<usize> {
        self.calls.iter().rposition(|call| call.id == id)
    }

    /// Returns the repaired calls. `cut` is true if the reply reached the output limit; the last call is then
    /// incomplete unless its arguments are complete.
    pub(crate) fn into_calls(self, names: &ToolNames, cut: bool) -> Vec<RequestedCall> {
        let last = self.calls.len().saturating_sub(1);
        self.calls
            .into_iter()
            .enumerate()
            .map(|(at, call)| {
                let arguments = if call.arguments.len() > MAX_ARGUMENTS {
                    malformed_arguments(&call.arguments, ArgumentProblem::TooLong)
                } else {
                    parse_arguments(&call.arguments, cut && at == last)
                };
                let tool = names.original_name(&names.join_pieces(&call.name));
                RequestedCall::new(tool, arguments)
            })
            .collect()
    }

    /// Returns the index of a piece's call, or `None` if the piece starts a new call.
    fn find_owner(&self, piece: CallPiece<'_>) -> Option<usize> {
        let same_id = |call: &PartialCall| !piece.id.is_empty() && call.id == piece.id;
        let same_index = |call: &PartialCall| piece.index.is_some() && call.index == piece.index;
        let find =
            |condition: &dyn Fn(&PartialCall) -> bool| self.calls.iter().rposition(condition);
        let has_identity = !piece.id.is_empty() || !piece.name.is_empty();

        let at = if let Some(at) = find(&|call| same_id(call) && same_index(call)) {
            at
        } else if let Some(at) = find(&same_id) {
            // Several calls share the id, so the index decides.
            let other = piece.index.is_some() && self.calls.get(at)?.index.is_some();
            if other && !piece.name.is_empty() {
                return None;
            }
            at
        } else if let Some(at) = find(&same_index) {
            at
        } else if piece.index.is_some() && has_identity {
            return None;
        } else {
            // A piece without a name, under a new index or none, continues the last call.
            self.last_index
        };
        let call = self.calls.get(at)?;
        (!call.is_followed_by(piece)).then_some(at)
    }
}

impl PartialCall {
    fn append_piece(&mut self, piece: CallPiece<'_>) {
        if self.index.is_none() {
            self.index = piece.index;
        }
        if self.id.is_empty() {
            piece.id.clone_into(&mut self.id);
        }
        self.ids_vary |= !piece.id.is_empty() && piece.id != self.id;
        if !piece.name.is_empty() && self.name.len() < MAX_NAME_PIECES {
            self.name.push(piece.name.to_owned());
        }
        // Text beyond the limit is dropped: the length must only show that the limit was exceeded.
        if self.arguments.len() <= MAX_ARGUMENTS {
            self.balance.track_text(piece.arguments);
            self.arguments.push_str(piece.arguments);
        }
    }

    /// Returns true if the piece's id belongs to another call.
    fn has_other_id(&self, piece: CallPiece<'_>) -> bool {
        let both = !piece.id.is_empty() && !self.id.is_empty();
        both && piece.id != self.id && !self.ids_vary
    }

    /// Returns true if a piece with this call's id or index starts another call. The piece must have a name,
    /// and this call a name too, with complete arguments or another tool.
    fn is_followed_by(&self, piece: CallPiece<'_>) -> bool {
        let Some(last) = self.name.last().filter(|_| !piece.name.is_empty()) else {
            return false;
        };
        let same_name = last == piece.name;
        match self.balance.state() {
            JsonState::Blank => !same_name && self.has_other_id(piece),
            JsonState::Open => !same_name && !piece.name.starts_with(last.as_str()),
            // A repeat has the same arguments, or none.
            JsonState::Closed => {
                let piece_arguments = piece.arguments.trim();
                let is_repeat =
                    piece_arguments.is_empty() || piece_arguments == self.arguments.trim();
                !(same_name && is_repeat && !self.has_other_id(piece))
            }
        }
    }
}

/// Returns arguments as JSON text, the form sent by most providers. A string is taken as JSON text already.
pub(crate) fn to_json_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// The bracket balance of partial JSON, updated with every piece.
#[derive(Debug, Default)]
struct JsonBalance {
    depth: usize,
    quote: Option<char>,
    escaped: bool,
    has_started: bool,
    opened: bool,
}

#[derive(Debug, PartialEq)]
enum JsonState {
    Blank,
    Open,
    Closed,
}

impl JsonBalance {
    fn track_text(&mut self, text: &str) {
        for character in text.chars() {
            match (self.quote, character) {
                (Some(_), _) if self.escaped => self.escaped = false,
                (Some(_), '\\') => self.escaped = true,
                (Some(quote), c) if c == quote => self.quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => self.quote = Some(character),
                (None, '{' | '[') => self.depth += 1,
                (None, '}' | ']') => self.depth = self.depth.saturating_sub(1),
                (None, _) => {}
            }
            self.has_started |= !character.is_whitespace();
            self.opened |= self.depth > 0 || self.quote.is_some();
        }
    }

    fn state(&self) -> JsonState {
        match (self.has_started, self.depth, self.quote) {
            (false, _, _) => JsonState::Blank,
            (true, 0, None) if self.opened => JsonState::Closed,
            (true, _, _) => JsonState::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::tool::ToolArguments;
    use serde_json::json;

    fn piece<'a>(
        index: Option<u64>,
        id: &'a str,
        name: &'a str,
        arguments: &'a str,
    ) -> CallPiece<'a> {
        CallPiece { index, id, name, arguments }
    }

    fn put_together(pieces: &[CallPiece<'_>]) -> Vec<(String, String)> {
        let mut calls = CallAssembler::default();
        for piece in pieces {
            calls.add_piece(*piece);
        }
        let names = ToolNames::new(["f", "g", "long_name"].into_iter());
        calls
            .into_calls(&names, false)
            .into_iter()
            .map(|call| {
                let arguments = match call.arguments {
                    ToolArguments::Parsed(object) => json!(object).to_string(),
                    ToolArguments::Malformed { raw, problem } => format!("{problem:?} {raw}"),
                };
                (call.tool, arguments)
            })
            .collect()
    }

    fn check(pieces: &[CallPiece<'_>], expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(tool, arguments)| ((*tool).to_owned(), (*arguments).to_owned()))
            .collect();
        assert_eq!(put_together(pieces), expected, "{pieces:#?}");
    }

    const HALF: &str = "{\"a\":";
    const REST: &str = "1}";
    const WHOLE: &str = "{\"a\":1}";
    const OTHER: &str = "{\"b\":2}";

    #[test]
    fn pieces_find_their_call_by_id_and_index() {
        check(
            &[
                piece(Some(0), "x", "f", ""),
                piece(Some(0), "", "", HALF),
                piece(Some(1), "y", "g", ""),
                piece(Some(1), "", "", OTHER),
                piece(Some(0), "", "", REST),
            ],
            &[("f", WHOLE), ("g", OTHER)],
        );
        // The same id for both: the index tells them apart.
        check(
            &[
                piece(Some(0), "x", "f", HALF),
                piece(Some(1), "x", "g", HALF),
                piece(Some(0), "x", "", REST),
                piece(Some(1), "x", "", REST),
            ],
            &[("f", WHOLE), ("g", WHOLE)],
        );
        // A known id under a wrong index.
        check(&[piece(Some(0), "x", "f", HALF), piece(Some(5), "x", "", REST)], &[("f", WHOLE)]);
        // A rest under an index of nobody's.
        check(&[piece(Some(0), "x", "f", HALF), piece(Some(1), "", "", REST)], &[("f", WHOLE)]);
        // Every index is 0, as from Gemini's compatible endpoint.
        check(
            &[piece(Some(0), "x", "f", WHOLE), piece(Some(0), "y", "f", OTHER)],
            &[("f", WHOLE), ("f", OTHER)],
        );
        // A new id with every piece.
        check(
            &[
                piece(Some(0), "x", "f", HALF),
                piece(Some(0), "y", "f", REST),
                piece(Some(0), "z", "f", ""),
            ],
            &[("f", WHOLE)],
        );
    }

    #[test]
    fn pieces_without_id_and_index_begin_a_call_by_their_name() {
        check(
            &[
                piece(None, "", "f", ""),
                piece(None, "", "", WHOLE),
                piece(None, "", "g", OTHER),
                piece(None, "", "g", WHOLE),
            ],
            &[("f", WHOLE), ("g", OTHER), ("g", WHOLE)],
        );
        // The name in every piece.
        check(&[piece(None, "", "f", HALF), piece(None, "", "f", REST)], &[("f", WHOLE)]);
        // The name in pieces.
        check(
            &[
                piece(None, "", "long_", ""),
                piece(None, "", "name", ""),
                piece(None, "", "", WHOLE),
            ],
            &[("long_name", WHOLE)],
        );
        // Everything again at the end.
        check(&[piece(Some(0), "x", "f", WHOLE), piece(Some(0), "x", "f", WHOLE)], &[("f", WHOLE)]);
    }

    #[test]
    fn calls_and_arguments_are_capped() {
        let ids: Vec<String> = (0..1_000).map(|n| format!("id{n}")).collect();
        let many: Vec<_> = (0..).zip(&ids).map(|(n, id)| piece(Some(n), id, "f", "{}")).collect();
        assert_eq!(put_together(&many).len(), MAX_CALLS);
        let long = "x".repeat(MAX_ARGUMENTS / 4);
        let all = put_together(&[piece(Some(0), "x", "f", &long); 6]);
        assert_eq!(all.len(), 1);
        assert!(all[0].1.starts_with("TooLong"));
    }
}
