//! Token counts from the provider, anywhere in the stream.

use djinn_core::budget::Usage;
use serde_json::Value;

/// The highest count seen of each kind: some providers count upwards in every chunk, some repeat a
/// zero at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TokenCounts {
    input: u64,
    output: u64,
    cached_tokens: u64,
}

impl TokenCounts {
    pub(crate) fn usage(self, took_ms: u64) -> Usage {
        Usage {
            input_tokens: self.input.max(self.cached_tokens),
            output_tokens: self.output,
            cached_tokens: self.cached_tokens,
            took_ms,
            micro_usd: 0,
        }
    }

    pub(crate) fn raise_counts(&mut self, input: u64, output: u64, cached_tokens: u64) {
        self.input = self.input.max(input);
        self.output = self.output.max(output);
        self.cached_tokens = self.cached_tokens.max(cached_tokens);
    }

    /// Reads a Chat Completions `usage`. If reasoning is counted separately (xAI), the total decides.
    pub(crate) fn read_openai(&mut self, usage: &Value) {
        let input = count_at(usage, "/prompt_tokens").max(count_at(usage, "/input_tokens"));
        let output = count_at(usage, "/completion_tokens").max(count_at(usage, "/output_tokens"));
        let rest = count_at(usage, "/total_tokens").saturating_sub(input);
        let output = if input > 0 && output > 0 { output.max(rest) } else { output };
        let paths = [
            "/prompt_tokens_details/cached_tokens",
            "/input_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
            "/cached_tokens",
        ];
        let cached_tokens = paths.iter().map(|path| count_at(usage, path)).max();
        self.raise_counts(input, output, cached_tokens.unwrap_or(0));
    }

    /// Reads a Messages API `usage`; `input_tokens` there exclude cache reads and writes.
    pub(crate) fn read_anthropic(&mut self, usage: &Value) {
        let cached_tokens = count_at(usage, "/cache_read_input_tokens");
        let cache_writes = count_at(usage, "/cache_creation_input_tokens");
        let input = count_at(usage, "/input_tokens");
        self.raise_counts(
            input.saturating_add(cached_tokens).saturating_add(cache_writes),
            count_at(usage, "/output_tokens"),
            cached_tokens,
        );
    }

    /// Reads the counts of Ollama's last line.
    pub(crate) fn read_ollama(&mut self, line: &Value) {
        self.raise_counts(
            count_at(line, "/prompt_eval_count"),
            count_at(line, "/eval_count"),
            count_at(line, "/prompt_eval_cached_count"),
        );
    }
}

fn count_at(value: &Value, path: &str) -> u64 {
    match value.pointer(path) {
        Some(Value::Number(number)) => number
            .as_u64()
            .or_else(|| number.as_f64().filter(|n| *n > 0.0).map(|n| n as u64))
            .unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn counted(read: impl Fn(&mut TokenCounts)) -> (u64, u64, u64) {
        let mut counted = TokenCounts::default();
        read(&mut counted);
        (counted.input, counted.output, counted.cached_tokens)
    }

    #[test]
    fn every_provider_counts_in_its_own_words() {
        let openai = |usage: Value| counted(|c| c.read_openai(&usage));
        assert_eq!(
            openai(
                json!({"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13, "prompt_tokens_details": {"cached_tokens": 5}})
            ),
            (9, 4, 5)
        );
        assert_eq!(
            openai(json!({"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 23})),
            (9, 14, 0)
        );
        assert_eq!(
            openai(
                json!({"prompt_tokens": 9, "completion_tokens": 4, "prompt_cache_hit_tokens": 8})
            ),
            (9, 4, 8)
        );
        assert_eq!(
            openai(json!({"prompt_tokens": "9", "completion_tokens": -4, "total_tokens": null})),
            (0, 0, 0)
        );
        assert_eq!(openai(json!("broken")), (0, 0, 0));
        let anthropic = json!({"input_tokens": 3, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 2, "output_tokens": 7});
        assert_eq!(counted(|c| c.read_anthropic(&anthropic)), (15, 7, 10));
        let ollama = json!({"prompt_eval_count": 21, "eval_count": 40});
        assert_eq!(counted(|c| c.read_ollama(&ollama)), (21, 40, 0));
    }

    #[test]
    fn the_highest_count_holds() {
        let mut counted = TokenCounts::default();
        counted.raise_counts(0, 1, 0);
        counted.raise_counts(20, 7, 5);
        counted.raise_counts(20, 0, 0);
        assert_eq!(counted.usage(12).output_tokens, 7);
        assert_eq!(counted.usage(12).took_ms, 12);
    }
}
