//! One route and method, as the contract describes it.

use djinn_core::error_code::ErrorCode;

/// One route and method.
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// Its name in the contract.
    pub(crate) id: &'static str,
    /// What it does, in a sentence.
    pub(crate) summary: &'static str,
    pub(crate) query: &'static [RouteParameter],
    pub(crate) request: RequestContent,
    pub(crate) answers: &'static [RouteAnswer],
    /// The codes of refusals, besides those of every route and those of its request.
    pub(crate) codes: &'static [ErrorCode],
}

/// What stands behind the `?` of a path or in a header.
pub(crate) struct RouteParameter {
    pub(crate) name: &'static str,
    pub(crate) place: &'static str,
    pub(crate) about: &'static str,
}

/// What the body of a request is.
pub(crate) enum RequestContent {
    Nothing,
    /// A JSON object of this shape.
    Json(&'static str),
    /// A form with these parts: name and meaning.
    Form(&'static [(&'static str, &'static str)]),
    /// A web form that a page of ours sends.
    Page,
}

/// What an answer is.
pub(crate) struct RouteAnswer {
    pub(crate) status: u16,
    pub(crate) body: AnswerContent,
    pub(crate) about: &'static str,
}

/// The body of an answer.
pub(crate) enum AnswerContent {
    Nothing,
    /// A JSON object of this shape.
    Json(&'static str),
    /// One JSON object a line.
    Lines,
    /// A stream of events, or of frames of JoyAgent's.
    Stream,
    Text,
    /// A web page, or the bytes of a file.
    Bytes,
}
