//! Conversion of images with unknown addresses into links. A browser loads images automatically, so an
//! invented address could leak data.
//!
//! Markdown renderers differ, so the filter follows no single renderer. Only images with a clear form and
//! address are kept. Everywhere else, the sign that could form an image is removed: the `!`, the parenthesis,
//! the colon of a definition, or the `<` of an element. Plain code is unchanged.

mod address;
mod block;
mod tag;
mod window;

use address::{KnownAddresses, read_definition_address, read_image_address};
use block::{Block, count_ticks};
use serde_json::{Map, Value};
use tag::{Tag, TagError, find_image_link, is_harmless};
use window::{Incomplete, WindowEnd, window_of};

use crate::urls::{TextEnd, map_members};

/// Maximum bytes held back before rereading waits for growth by an eighth.
const MIN_RETRY: usize = 64;

/// The form of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextForm {
    /// A message for users, in Markdown with optional HTML elements.
    Message,
    /// The source of a document or a value. HTML elements and attributes are kept, because rendering cleans
    /// the document. Code is filtered too, because a renderer may remove the fence around the document.
    Source,
}

/// A filter that converts images with unknown addresses into links. The result does not depend on the
/// division of the text into pieces.
pub struct ImageFilter<'a> {
    form: TextForm,
    addresses: KnownAddresses<'a>,
    block: Block,
    /// The end of the text that may start an image.
    pending: String,
    /// Minimum bytes of `pending` for the next read.
    retry_len: usize,
    /// True if the paragraph contains the start of an image without a known end.
    has_open_image: bool,
    /// True if the text so far ends in `!`, which would turn a following link into an image.
    ends_in_mark: bool,
}

/// The next piece of a text: its length in bytes, and an optional replacement.
struct Piece {
    len: usize,
    replacement: Option<String>,
}

impl Piece {
    fn keep(len: usize) -> Self {
        Self { len, replacement: None }
    }

    fn replace(len: usize, replacement: impl Into<String>) -> Self {
        Self { len, replacement: Some(replacement.into()) }
    }
}

/// Returns a text without images of unknown addresses.
#[must_use]
pub fn unlink_images(
    text: &str,
    form: TextForm,
    is_known: &(dyn Fn(&str) -> bool + Sync),
) -> String {
    ImageFilter::new(form, is_known).filter_text(text, TextEnd::Whole)
}

/// Returns the arguments of a call, each text without images of unknown addresses.
#[must_use]
pub fn unlink_images_in_members(
    members: &Map<String, Value>,
    is_known: &(dyn Fn(&str) -> bool + Sync),
) -> Map<String, Value> {
    map_members(members, &mut |text| unlink_images(text, TextForm::Message, is_known))
}

impl<'a> ImageFilter<'a> {
    /// Creates a filter for a new text. `is_known` returns true for a URL that may be loaded.
    #[must_use]
    pub fn new(form: TextForm, is_known: &'a (dyn Fn(&str) -> bool + Sync)) -> Self {
        Self {
            form,
            addresses: KnownAddresses::new(is_known),
            block: match form {
                TextForm::Message => Block::default(),
                TextForm::Source => Block::without_code(),
            },
            pending: String::new(),
            retry_len: 0,
            has_open_image: false,
            ends_in_mark: false,
        }
    }

    /// Creates a filter for the continuation of a cut text, as if both were read together.
    #[must_use]
    pub fn continuing(form: TextForm, is_known: &'a (dyn Fn(&str) -> bool + Sync)) -> Self {
        Self { block: Block::unknown(), has_open_image: true, ..Self::new(form, is_known) }
    }

    /// Returns the whole of a text, filtered.
    #[must_use]
    pub fn filter_text(mut self, text: &str, end: TextEnd) -> String {
        let output = self.push(text);
        output + &self.finish(end)
    }

    /// Takes the next piece, and returns the text certain by now.
    pub fn push(&mut self, piece: &str) -> String {
        self.pending.push_str(piece);
        if self.pending.len() < self.retry_len { String::new() } else { self.filter_held(None) }
    }

    /// Returns the rest at the end of the text.
    pub fn finish(&mut self, end: TextEnd) -> String {
        self.filter_held(Some(end))
    }

    fn filter_held(&mut self, end: Option<TextEnd>) -> String {
        let text = std::mem::take(&mut self.pending);
        let mut output = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let Ok(Piece { len, replacement }) = self.next_piece(rest, end) else { break };
            let (piece, behind) = rest.split_at_checked(len).unwrap_or((rest, ""));
            output.push_str(replacement.as_deref().unwrap_or(piece));
            self.ends_in_mark = output.ends_with('!') || (output.is_empty() && self.ends_in_mark);
            rest = behind;
        }
        rest.clone_into(&mut self.pending);
        let len = self.pending.len();
        self.retry_len = if len < MIN_RETRY { 0 } else { len + len / 8 };
        output
    }

    /// Returns the next piece of a non-empty text.
    fn next_piece(&mut self, rest: &str, end: Option<TextEnd>) -> Result<Piece, Incomplete> {
        if let Some(code_len) = self.block.read_code(rest, end.is_some())? {
            return Ok(Piece::keep(code_len));
        }
        let mut characters = rest.chars();
        let first = characters.next().ok_or(Incomplete)?;
        let next = characters.next();
        if next.is_none() && end.is_none() && matches!(first, '!' | ']' | '<') {
            return Err(Incomplete);
        }
        let is_cut = end == Some(TextEnd::Cut);
        let window = window_of(rest, end);
        let piece = match (first, next) {
            // A continuation of the text could extend the match.
            ('!' | ']', None) if is_cut => Piece::replace(1, format!("{first} ")),
            ('<', None) if is_cut => Piece::replace(1, "&lt;"),
            ('!', Some('[')) => self.read_image(window)?,
            // The end of an image that started in another form.
            (']', Some('(')) if self.has_open_image => Piece::replace(1, "] "),
            (']', Some(':')) if self.block.may_define() => self.read_definition(window)?,
            ('<', Some('a'..='z' | 'A'..='Z')) => self.read_tag(window)?,
            ('`', _) => Piece::keep(count_ticks(rest)),
            _ => Piece::keep(first.len_utf8()),
        };
        let source = rest.get(..piece.len).unwrap_or(rest);
        if self.block.observe(source, piece.replacement.is_none()) {
            self.has_open_image = false;
        }
        Ok(piece)
    }

    fn read_image(&mut self, (window, end): (&str, WindowEnd)) -> Result<Piece, Incomplete> {
        let inside = window.get("![".len()..).unwrap_or_default();
        let is_doubtful = |next: char| matches!(next, '[' | ']' | '\\' | '`' | '<' | '\n' | '\r');
        let alt_len = inside.find(is_doubtful).unwrap_or(inside.len());
        let mut behind = inside.get(alt_len..).unwrap_or_default().chars();
        match (behind.next(), behind.next()) {
            (None, _) | (Some(']'), None) if end == WindowEnd::Open => Err(Incomplete),
            (Some(']'), Some('(')) => {
                let address = read_image_address(behind.as_str(), end)?;
                let safe_address = address.filter(|address| self.addresses.is_harmless(address));
                Ok(match safe_address {
                    Some(address) => Piece::keep("![](".len() + alt_len + address.len()),
                    None => Piece::replace("![".len(), self.open_link()),
                })
            }
            // An address comes of a definition, if at all.
            (Some(']'), Some(_)) => Ok(Piece::keep("![".len())),
            (None | Some(_), _) => {
                self.has_open_image = true;
                Ok(Piece::keep("![".len()))
            }
        }
    }

    /// Returns the start of a link, distinct from an image.
    fn open_link(&self) -> &'static str {
        if self.ends_in_mark { " [" } else { "[" }
    }

    fn read_definition(&mut self, (window, end): (&str, WindowEnd)) -> Result<Piece, Incomplete> {
        let address = read_definition_address(window.get("]:".len()..).unwrap_or_default(), end)?;
        let is_harmless = |address: &str| address.is_empty() || self.addresses.is_harmless(address);
        let is_kept = address.is_some_and(is_harmless);
        Ok(if is_kept { Piece::keep("]:".len()) } else { Piece::replace(1, "] ") })
    }

    fn read_tag(&mut self, (window, end): (&str, WindowEnd)) -> Result<Piece, Incomplete> {
        let tag = Tag::read(window);
        if tag == Err(TagError::Unfinished) && end == WindowEnd::Open {
            return Err(Incomplete);
        }
        let is_kept = match &tag {
            Ok(tag) => is_harmless(tag, &mut self.addresses),
            Err(TagError::Name) => !self.block.is_strict(),
            Err(TagError::Attribute) => !self.block.is_strict() && !self.block.begins_line(),
            Err(TagError::Unfinished | TagError::Broken) => false,
        };
        let tag = tag.ok();
        if is_kept || self.form == TextForm::Source {
            self.block.enter_element(tag.map(|tag| tag.name), is_kept);
            return Ok(Piece::keep(1));
        }
        // Within an image, a link's brackets could be the image's.
        let tag = tag.filter(|_| !self.has_open_image);
        let link = tag.and_then(|tag| Some((tag.len, find_image_link(&tag)?)));
        Ok(match link {
            Some((len, link)) => Piece::replace(len, format!("{}{link}", self.open_link())),
            None => Piece::replace(1, "&lt;"),
        })
    }
}
