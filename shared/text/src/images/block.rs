//! The block at a position of a text: code recognized by every renderer, and other context for reading signs.

use super::window::Incomplete;

/// Maximum spaces before a fence within a paragraph.
const MAX_FENCE_INDENT: usize = 3;

/// Maximum bytes of the first line of a fence, and of code within a line.
const MAX_CODE_LINE: usize = 400;

/// Elements with raw content up to the end tag, across blank lines.
const RAW_NAMES: [&str; 4] = ["pre", "script", "style", "textarea"];

/// The block state of a text.
pub(super) struct Block {
    /// The fence of the current code.
    fence: Option<Fence>,
    /// True if no renderer can take other lines for fences than this.
    is_trusted: bool,
    /// True if no sign so far lets a backtick of the paragraph mean anything but code.
    trusts_spans: bool,
    /// True if the paragraph has elements, so that any tag-like text may be a tag.
    has_element: bool,
    /// True if the same holds up to the end of the text.
    is_raw: bool,
    /// True if the last character was a carriage return.
    ends_in_return: bool,
    line: Line,
    was_blank: bool,
}

/// The current line of a text.
struct Line {
    /// True if no character of the line was read.
    is_new: bool,
    /// True if the line has only white space so far.
    is_blank: bool,
    /// True if the line has only white space and signs of lists and quotations so far.
    is_prefix: bool,
    /// True if the line's first bracket follows only such a prefix.
    begins_bracket: Option<bool>,
    has_backslash: bool,
    /// True if the last word may be a URL, with a following backtick as a part.
    may_be_url: bool,
    /// The newest character, and the length of its run.
    run: (char, usize),
}

/// The start of fenced code: the spaces before, and the backticks.
#[derive(Clone, Copy)]
struct Fence {
    indent: usize,
    ticks: usize,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            fence: None,
            is_trusted: true,
            trusts_spans: true,
            has_element: false,
            is_raw: false,
            ends_in_return: false,
            line: Line::default(),
            was_blank: true,
        }
    }
}

impl Default for Line {
    fn default() -> Self {
        Self {
            is_new: true,
            is_blank: true,
            is_prefix: true,
            begins_bracket: None,
            has_backslash: false,
            may_be_url: false,
            run: ('\n', 0),
        }
    }
}

impl Block {
    /// Creates the start of a text without recognized code.
    pub(super) fn without_code() -> Self {
        Self { is_trusted: false, trusts_spans: false, ..Self::default() }
    }

    /// Creates the state for the middle of a text with an unknown start.
    pub(super) fn unknown() -> Self {
        let line = Line { is_new: false, is_blank: false, ..Line::default() };
        Self { is_raw: true, was_blank: false, line, ..Self::without_code() }
    }

    /// Returns true if any tag-like text may be a tag.
    pub(super) fn is_strict(&self) -> bool {
        self.has_element || self.is_raw || self.ends_in_return
    }

    /// Returns true if only white space and signs of lists and quotations precede, so that an element may
    /// start an HTML block.
    pub(super) fn begins_line(&self) -> bool {
        self.line.is_prefix
    }

    /// Returns true if `]:` may be a part of a definition.
    pub(super) fn may_define(&self) -> bool {
        self.line.begins_bracket != Some(false) || self.line.has_backslash || self.is_strict()
    }

    /// Records a tag with a kept `<`.
    pub(super) fn enter_element(&mut self, name: Option<&str>, is_harmless: bool) {
        let is_raw =
            name.is_some_and(|name| RAW_NAMES.iter().any(|raw| name.eq_ignore_ascii_case(raw)));
        self.is_raw |= is_raw || !is_harmless;
    }

    /// Returns the length in bytes of code at the start of a text, or `None` without code.
    pub(super) fn read_code(
        &mut self,
        rest: &str,
        is_end: bool,
    ) -> Result<Option<usize>, Incomplete> {
        if let Some(fence) = self.fence {
            if let Some(len) = self.read_fenced(fence, rest, is_end)? {
                return Ok(Some(len));
            }
            // A line before the fence may have ended the code.
            self.fence = None;
            self.is_trusted = false;
        }
        if self.line.is_new
            && self.trusts_fences()
            && let Some((fence, len)) = self.read_fence(rest, is_end)?
        {
            self.fence = Some(fence);
            return Ok(Some(len));
        }
        if rest.starts_with('`') { self.read_span(rest, is_end) } else { Ok(None) }
    }

    fn trusts_fences(&self) -> bool {
        self.is_trusted && !self.is_strict()
    }

    /// Reads the first line of fenced code.
    fn read_fence(&self, rest: &str, is_end: bool) -> Result<Option<(Fence, usize)>, Incomplete> {
        let start = LineStart::of(rest);
        let is_open = start.rest.is_empty() || start.ticks >= 3;
        let Some((line, behind)) = rest.split_once('\n').filter(|_| is_open) else {
            let may_go_on = is_open && !is_end && rest.len() <= MAX_CODE_LINE;
            return if may_go_on { Err(Incomplete) } else { Ok(None) };
        };
        let information =
            line.strip_suffix('\r').unwrap_or(line).get(start.len..).unwrap_or_default();
        let is_fence = start.ticks >= 3
            && line.len() <= MAX_CODE_LINE
            && (start.indent <= MAX_FENCE_INDENT || self.was_blank)
            && !information.contains(['`', '\r']);
        let fence = Fence { indent: start.indent, ticks: start.ticks };
        Ok(is_fence.then_some((fence, rest.len() - behind.len())))
    }

    /// Returns the length of the next fenced code; `None` if a line may have ended the code without the
    /// fence.
    fn read_fenced(
        &mut self,
        fence: Fence,
        rest: &str,
        is_end: bool,
    ) -> Result<Option<usize>, Incomplete> {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let behind = rest.get(end..).unwrap_or_default();
        let (line_len, is_whole) = match behind {
            "" => (end, is_end),
            "\r" if !is_end && (end == 0 || self.line.is_new) => return Err(Incomplete),
            "\r" if !is_end => (end, false),
            _ if behind.starts_with('\n') => (end + 1, true),
            _ if behind.starts_with("\r\n") => (end + 2, true),
            // A carriage return alone ends a line, too.
            _ if end == 0 => return Ok(None),
            _ => (end, true),
        };
        if self.line.is_new {
            let line = rest.get(..line_len).unwrap_or(rest);
            let head = line.get(..line.floor_char_boundary(MAX_CODE_LINE)).unwrap_or(line);
            let start = LineStart::of(head);
            let may_end = start.may_end(fence);
            if may_end && head.len() < line.len() {
                return Ok(None);
            }
            if may_end && !is_whole {
                return Err(Incomplete);
            }
            let is_blank_line = head.chars().all(is_space);
            let has_end = may_end && start.ticks >= fence.ticks;
            let closes =
                has_end && start.indent == fence.indent && start.rest.chars().all(is_space);
            if !is_blank_line && (start.indent < fence.indent || (has_end && !closes)) {
                return Ok(None);
            }
            if closes {
                self.fence = None;
                self.was_blank = false;
            }
        }
        self.line = Line { is_new: is_whole && line_len > end, ..Line::default() };
        Ok(Some(line_len))
    }

    /// Returns the length of inline code, if unambiguous; records ambiguous backticks.
    fn read_span(&mut self, rest: &str, is_end: bool) -> Result<Option<usize>, Incomplete> {
        let ticks = count_ticks(rest);
        if ticks == rest.len() && !is_end && ticks <= MAX_CODE_LINE {
            return Err(Incomplete);
        }
        let is_plain =
            self.trusts_spans && !self.line.may_be_url && ticks < 3 && self.trusts_fences();
        if !is_plain {
            return Ok(None);
        }
        let inside = rest.get(ticks..).unwrap_or_default();
        let mut at = 0;
        while let Some(offset) = inside.get(at..).unwrap_or_default().find(['`', '\n', '\r', '|']) {
            at += offset;
            let behind = inside.get(at..).unwrap_or_default();
            let closing = count_ticks(behind);
            if at + closing > MAX_CODE_LINE || closing == 0 {
                return Ok(None);
            }
            if closing == behind.len() && !is_end {
                return Err(Incomplete);
            }
            if closing == ticks {
                self.line =
                    Line { is_new: false, is_blank: false, is_prefix: false, ..Line::default() };
                return Ok(Some(ticks + at + closing));
            }
            at += closing;
        }
        if is_end || inside.len() > MAX_CODE_LINE { Ok(None) } else { Err(Incomplete) }
    }

    /// Records text outside code. Returns true if the text ended a paragraph.
    pub(super) fn observe(&mut self, text: &str, is_kept: bool) -> bool {
        text.chars().fold(false, |ended, next| ended | self.observe_character(next, is_kept))
    }

    fn observe_character(&mut self, next: char, is_kept: bool) -> bool {
        // A carriage return alone ends a line, too.
        self.is_raw |= self.ends_in_return && next != '\n';
        self.ends_in_return = next == '\r';
        if next == '\n' {
            let is_blank = self.line.is_blank;
            if is_blank {
                self.trusts_spans = true;
                self.has_element = false;
            }
            self.was_blank = is_blank;
            self.line = Line::default();
            return is_blank;
        }
        let line = &mut self.line;
        let previous = line.run.0;
        line.run = if line.run.0 == next { (next, line.run.1 + 1) } else { (next, 1) };
        match next {
            '`' => self.trusts_spans = false,
            '<' => {
                self.has_element |= is_kept && line.is_prefix;
                self.trusts_spans = false;
            }
            '$' | '|' | ']' => self.trusts_spans = false,
            '[' => {
                line.begins_bracket.get_or_insert(line.is_prefix);
                self.trusts_spans = false;
            }
            '\\' => {
                line.has_backslash = true;
                self.trusts_spans = false;
            }
            // Comments and similar elements continue after blank lines.
            '!' | '?' if is_kept && previous == '<' => self.is_raw = true,
            _ => {}
        }
        let (last, count) = line.run;
        // Unrecognized fences, and formulas, which may contain fences.
        self.is_trusted &=
            !((matches!(last, '`' | '~') && count >= 3) || (last == '$' && count >= 2));
        line.is_new = false;
        line.is_blank &= is_space(next);
        line.is_prefix &=
            next.is_ascii_whitespace() || next.is_ascii_digit() || ">-+*.):".contains(next);
        line.may_be_url = !next.is_whitespace() && (line.may_be_url || ":./@".contains(next));
        false
    }
}

/// The start of a line: its spaces, and the backticks after the spaces.
struct LineStart<'a> {
    indent: usize,
    ticks: usize,
    /// Bytes of the spaces and backticks.
    len: usize,
    rest: &'a str,
}

impl<'a> LineStart<'a> {
    fn of(text: &'a str) -> Self {
        let behind = text.trim_start_matches(' ');
        let indent = text.len() - behind.len();
        let ticks = count_ticks(behind);
        Self { indent, ticks, len: indent + ticks, rest: behind.get(ticks..).unwrap_or_default() }
    }

    /// Returns true if a line with this start may be, or may become, the end of the code in any renderer.
    fn may_end(&self, fence: Fence) -> bool {
        let is_closing = |next: char| next.is_whitespace() || matches!(next, '`' | '~');
        let may_close = self.ticks == 0 || self.ticks >= fence.ticks;
        self.rest.is_empty() || (may_close && self.rest.chars().all(is_closing))
    }
}

/// Returns true for characters that make a blank line; others, such as a form feed, are text.
fn is_space(next: char) -> bool {
    matches!(next, ' ' | '\t' | '\r' | '\n')
}

pub(super) fn count_ticks(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}
