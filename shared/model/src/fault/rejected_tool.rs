//! The tool named in a provider's rejection of a request.

/// Marks before the position of a tool in a request, in the words of a provider. Gemini has one list of functions within
/// its list of tools, so its mark is looked for first.
const POSITION_MARKS: &[&str] = &[
    // Gemini: "tools[0].function_declarations[80].parameters.properties[data].items: missing field".
    "function_declarations[",
    "functionDeclarations[",
    // Anthropic: "tools.21.custom.input_schema: …". Bedrock: "toolConfig.tools.3.toolSpec.inputSchema.json.type …".
    "tools.",
    // OpenAI's `param`, which servers with the same protocol put into the message: "tools[5].function.parameters".
    "tools[",
];

/// Phrases before a quoted name. OpenAI: "Invalid schema for function 'create_price': …". Gemini on Vertex AI: "Unable to
/// submit request because `create_price` functionDeclaration …".
const NAME_PHRASES: &[&str] = &["schema for function", "functiondeclaration", "schema for tool"];

/// Returns the rejected tool among those of the request, which have the provider's names in the order of the request.
pub(super) fn find_rejected_tool<'a>(message: &str, tools: &[&'a str]) -> Option<&'a str> {
    let by_name = || {
        let lower = message.to_lowercase();
        if !NAME_PHRASES.iter().any(|phrase| lower.contains(phrase)) {
            return None;
        }
        let quoted = |name: &str| {
            ['\'', '"', '`'].iter().any(|mark| message.contains(&format!("{mark}{name}{mark}")))
        };
        tools.iter().copied().find(|name| quoted(name))
    };
    let by_position = || {
        POSITION_MARKS.iter().find_map(|mark| {
            let mut behind = message.split(mark).skip(1);
            let position = behind.find_map(leading_number)?;
            tools.get(position).copied()
        })
    };
    by_name().or_else(by_position)
}

fn leading_number(text: &str) -> Option<usize> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_tool_is_found_in_the_words_of_each_provider() {
        for (message, tool) in [
            (
                "Invalid schema for function 'b': In context=('properties', 'tags'), array schema missing items.",
                Some("b"),
            ),
            (
                "tools.1.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
                Some("b"),
            ),
            (
                "tools.2.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
                Some("c"),
            ),
            (
                "The value at toolConfig.tools.2.toolSpec.inputSchema.json.type must be one of the following: object.",
                Some("c"),
            ),
            (
                "* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties[data].items: missing field.",
                Some("c"),
            ),
            (
                "Invalid value at 'tools[0].function_declarations[1].parameters.properties[11].value.any_of[0].type'",
                Some("b"),
            ),
            (
                "Unable to submit request because `a` functionDeclaration `parameters.x` schema specified other fields",
                Some("a"),
            ),
            (
                "1 validation error: tools[1].function.parameters: Input should be a valid dictionary",
                Some("b"),
            ),
            ("tools.7.custom.input_schema: JSON schema is invalid", None),
            ("Invalid schema for function 'd': type is missing", None),
            ("Invalid schema for response_format 'a'", None),
            ("messages.3: tool_use ids were found without tool_result blocks", None),
            ("The tool 'b' is not available", None),
            ("", None),
        ] {
            assert_eq!(find_rejected_tool(message, &["a", "b", "c"]), tool, "{message}");
        }
    }
}
