//! A question that counts, as `cargo xtask smoke` asks. The reply is long enough to measure its stream.

use super::question::question_text;
use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;

const QUESTION: &str = "Count from one to thirty";

const NUMBERS: &str = "one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, \
    fourteen, fifteen, sixteen, seventeen, eighteen, nineteen, twenty, twenty-one, twenty-two, twenty-three, \
    twenty-four, twenty-five, twenty-six, twenty-seven, twenty-eight, twenty-nine, thirty";

/// Counts, if the question begins with the request to count.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    let is_asked = question_text(request).starts_with(QUESTION);
    is_asked.then(|| ScriptedResponse::default().reply(NUMBERS))
}
