//! The texts of a question and its attached files.

use djinn_core::conversation::Exchange;
use djinn_core::input::RunSpec;

use super::json::member_texts;
use super::{
    ARGUMENTS, ATTACHMENTS, ContentText, HISTORY, HasTexts, MAX_ARGUMENTS, MAX_BASE_PROMPT,
    MAX_DESCRIPTION, MAX_HISTORY_TEXT, MAX_QUESTION, QUESTION, TextBound, without_empty,
};
use crate::port::file::NewFile;
use crate::question::{QuestionAttachment, UserQuestion};

impl HasTexts for UserQuestion {
    fn texts(&mut self) -> Vec<ContentText<'_>> {
        let Self {
            spec,
            client_prompt,
            history,
            // Only compared, as part of a hash.
            choice: _,
            attachments,
            // Parsed from the text; a response is checked as a `ResponseRecord`.
            parsed_response: _,
            capability: _,
        } = self;
        let RunSpec {
            // Short labels of letters and digits, chosen by machines and shown to no model.
            tenant: _,
            user: _,
            session: _,
            shared: _,
            is_unlisted: _,
            request: _,
            body_hash: _,
            ignored: _,
            question,
            // One of four values.
            output_style: _,
            // The deployment's own texts.
            warnings: _,
            base_prompt: _,
            // Numbers, and names of tools that are only compared, never shown.
            settings: _,
            // Added when the run starts. Each text was checked when it was written.
            history: _,
            history_tokens: _,
            earlier: _,
            files: _,
            attachments: _,
            // A file of the deployment.
            agent: _,
            arguments,
            // Set when another agent takes the run over.
            first_arguments: _,
            // The name of an agent, and a number.
            review: _,
            child: _,
        } = spec;
        let own_texts = [
            ContentText::from_words(QUESTION, question, TextBound::Bytes(MAX_QUESTION)),
            ContentText::from_words(
                "base_prompt",
                client_prompt,
                TextBound::Characters(MAX_BASE_PROMPT),
            ),
        ];
        let argument_texts =
            member_texts(ARGUMENTS, arguments, TextBound::TotalBytes(MAX_ARGUMENTS));
        let history_texts = history.iter_mut().flatten().flat_map(exchange_texts);
        let own_texts = own_texts.into_iter().chain(argument_texts).chain(history_texts);
        without_empty(own_texts.chain(attachments.iter_mut().flat_map(attachment_texts)))
    }
}

/// Returns the texts of a question and its answer in a history that a client keeps itself.
fn exchange_texts(exchange: &mut Exchange) -> [ContentText<'_>; 2] {
    // Anybody may have written the texts, nobody is known to have asked, and a client names no files.
    let Exchange { question, answer, tainted: _, asker: _, files: _ } = exchange;
    [question, answer]
        .map(|text| ContentText::from_words(HISTORY, text, TextBound::Bytes(MAX_HISTORY_TEXT)))
}

/// Returns the texts of an attached file. The content is for tools, as for any file.
fn attachment_texts(attachment: &mut QuestionAttachment) -> Vec<ContentText<'_>> {
    let (name, description) = match attachment {
        QuestionAttachment::New(file, _) => {
            let NewFile { name, description, internal: _, media_type: _, uploaded: _, writer: _ } =
                file;
            (name, Some(description))
        }
        // The description was checked when it was written; a question brings no new description.
        QuestionAttachment::Known(file) => (&mut file.name, None),
    };
    let most = TextBound::Characters(MAX_DESCRIPTION);
    let description = description.map(|words| ContentText::from_words(ATTACHMENTS, words, most));
    // At most 255 bytes.
    let name = ContentText::from_name(ATTACHMENTS, name.as_str(), TextBound::Bytes(255));
    [name].into_iter().chain(description).collect()
}
