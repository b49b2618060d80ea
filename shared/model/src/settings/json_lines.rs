//! The line number of a field in a JSON text, needed because serde drops positions.

/// Returns the line of the field at a path, `models.main.max_tokens`, or of the last existing field on the
/// path. Lines count from 1. The text must be JSON.
pub(super) fn find_line(json: &str, path: &str) -> usize {
    let mut reader = LineReader { rest: json, line: 1, members: Vec::new(), is_key_next: false };
    let mut best_line = 1;
    let mut best_length = 0;
    while let Some((member, line)) = reader.next_member() {
        let leads_there = path == member || path.starts_with(&format!("{member}."));
        if leads_there && member.len() > best_length {
            (best_line, best_length) = (line, member.len());
        }
    }
    best_line
}

struct LineReader<'a> {
    rest: &'a str,
    line: usize,
    /// The current field of each open value; `None` for a list.
    members: Vec<Option<String>>,
    is_key_next: bool,
}

impl LineReader<'_> {
    /// Returns the path of the next field, with its line.
    fn next_member(&mut self) -> Option<(String, usize)> {
        while let Some(next) = self.rest.chars().next() {
            if next == '"' {
                let line = self.line;
                let text = self.read_string();
                if self.is_key_next {
                    self.is_key_next = false;
                    if let Some(Some(member)) = self.members.last_mut() {
                        *member = text;
                    }
                    let names = self.members.iter().flatten().map(String::as_str);
                    return Some((names.collect::<Vec<_>>().join("."), line));
                }
                continue;
            }
            self.skip(next.len_utf8());
            match next {
                '{' => self.members.push(Some(String::new())),
                '[' => self.members.push(None),
                '}' | ']' => drop(self.members.pop()),
                _ => {}
            }
            if matches!(next, '{' | ',' | '[' | '}' | ']') {
                let is_in_object = matches!(self.members.last(), Some(Some(_)));
                self.is_key_next = matches!(next, '{' | ',') && is_in_object;
            }
        }
        None
    }

    fn read_string(&mut self) -> String {
        let mut is_escaped = true;
        let end = self.rest.char_indices().find(|(_, character)| {
            let ends = *character == '"' && !is_escaped;
            is_escaped = if is_escaped { false } else { *character == '\\' };
            ends
        });
        let literal = self.skip(end.map_or(self.rest.len(), |(at, _)| at + 1));
        serde_json::from_str(literal).unwrap_or_default()
    }

    fn skip(&mut self, bytes: usize) -> &str {
        let (head, tail) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.line += head.matches('\n').count();
        self.rest = tail;
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_stands_in_the_line_of_its_name() {
        let json = "{\n \"a\": {\"b\": [1, {\"c\": \"}{\\\"\"},\n \"x\"], \"d.e\":\n 2},\n \"m\": {\n\"a\": 1}\n}";
        for (path, line) in [
            ("a", 2),
            ("a.b", 2),
            ("a.b.c", 2),
            ("a.d.e", 3),
            ("a.x", 2),
            ("m", 5),
            ("m.a", 6),
            ("m.ab", 5),
            ("other", 1),
            ("", 1),
        ] {
            assert_eq!(find_line(json, path), line, "{path}");
        }
    }
}
