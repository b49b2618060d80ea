//! Image support of models, derived from model names.

/// Name prefixes of models with image support. A name starts after the last `/`, and after the region of a
/// Bedrock profile (`eu.anthropic.claude-…`).
const FAMILIES: [&str; 24] = [
    "chatgpt-4o",
    "claude-",
    "gemini-",
    "gemma-3",
    "gemma3",
    "gpt-4-turbo",
    "gpt-4.1",
    "gpt-4.5",
    "gpt-4o",
    "gpt-5",
    "grok-4",
    "internvl",
    "kimi-k2.5",
    "llama-4",
    "llama4",
    "llava",
    "minicpm-v",
    "mistral-medium-3",
    "mistral-small-3",
    "nova-lite",
    "nova-pro",
    "o1",
    "o3",
    "o4-mini",
];

/// Name prefixes of models without image support.
const BLIND: [&str; 5] = ["claude-2", "claude-instant", "o1-mini", "o1-preview", "o3-mini"];

/// Words in a name that indicate image support.
const WORDS: [&str; 5] = ["-vl", "pixtral", "qwen2.5vl", "qvq", "vision"];

/// Returns true if a model with this name accepts images. Unknown models count as false, because a request
/// with images would be rejected.
pub(super) fn sees_images_by_name(model: &str) -> bool {
    let name = model.to_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = name.rsplit_once("anthropic.").map_or(name, |(_, name)| name);
    let name = name.rsplit_once("amazon.").map_or(name, |(_, name)| name);
    let is_in = |families: &[&str]| families.iter().any(|family| name.starts_with(family));
    (is_in(&FAMILIES) && !is_in(&BLIND)) || WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_family_sees_and_an_unknown_name_does_not() {
        for name in [
            "gpt-4.1",
            "gpt-4o-mini",
            "o3",
            "claude-sonnet-5",
            "eu.anthropic.claude-sonnet-4-6-v1:0",
            "anthropic/claude-opus-4.1",
            "models/gemini-2.5-pro",
            "qwen3-vl-plus",
            "Qwen/Qwen2.5-VL-72B-Instruct",
            "meta-llama/Llama-4-Scout",
            "us.amazon.nova-pro-v1:0",
        ] {
            assert!(sees_images_by_name(name), "{name}");
        }
        for name in
            ["scripted", "deepseek-chat", "gpt-3.5-turbo", "o3-mini", "claude-2.1", "qwen3", ""]
        {
            assert!(!sees_images_by_name(name), "{name}");
        }
    }
}
