//! The rules of a server.

use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::bench::plan::PlanBench;
use crate::bench::{self, Bench};
use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;
use crate::rule::Rule;
use crate::{demo, lock};

/// Rules in the order of matching. Clones share the rules.
#[derive(Debug, Clone, Default)]
pub struct Script {
    rules: Arc<Mutex<Vec<Rule>>>,
    delay: Option<Duration>,
}

impl Script {
    /// Creates the model of the offline demo. It answers questions about the growth of regions in a CSV file
    /// with the columns region, year and sales. All answers are computed from the request alone. Other
    /// questions return status 400 with the code `no_script`.
    #[must_use]
    pub fn demo() -> Self {
        Self::with_responder("the demo model", demo::respond)
    }

    /// Creates a model for benchmarks: runs of a fixed size, any number in parallel, without latency.
    #[must_use]
    pub fn bench(bench: Bench) -> Self {
        Self::with_responder("the benchmark model", move |request| bench::respond(&bench, request))
    }

    /// Creates a model for benchmarks of plans: plans of a fixed size, any number in parallel.
    #[must_use]
    pub fn plan_bench(bench: PlanBench) -> Self {
        Self::with_responder("the benchmark model", move |request| {
            bench::plan::respond(&bench, request)
        })
    }

    /// Sets the wait before every chunk but the first, for responses without their own.
    #[must_use]
    pub fn with_delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Expects a request whose messages contain this text: the question, an earlier text or call of the
    /// model, or a tool's result. See [`RecordedRequest::text`]; the instructions are excluded.
    #[track_caller]
    pub fn on(&self, text: impl Into<String>) -> Rule {
        let text = text.into();
        let label = format!("on({text:?}) at {}", Location::caller());
        self.add_rule(Rule::new(label, move |request| request.text().contains(&text)))
    }

    /// Expects a request for which the function returns true.
    #[track_caller]
    pub fn on_request(
        &self,
        expects: impl Fn(&RecordedRequest) -> bool + Send + Sync + 'static,
    ) -> Rule {
        let label = format!("on_request at {}", Location::caller());
        self.add_rule(Rule::new(label, expects))
    }

    fn with_responder(
        label: &str,
        respond: impl Fn(&RecordedRequest) -> ScriptedResponse + Send + Sync + 'static,
    ) -> Self {
        let script = Self::default();
        let rule = Rule::new(label.to_owned(), |_| true);
        script.add_rule(rule.respond_with(respond).always());
        script
    }

    fn add_rule(&self, rule: Rule) -> Rule {
        lock(&self.rules).push(rule.clone());
        rule
    }

    /// Returns the first response of a matching rule, or the reason for none.
    pub(crate) fn answer_request(
        &self,
        request: &RecordedRequest,
    ) -> Result<ScriptedResponse, String> {
        // Copied, because a rule may take long.
        let rules = lock(&self.rules).clone();
        let match_and_response =
            rules.iter().find_map(|rule| Some((rule, rule.take_answer(request)?)));
        let Some((rule, mut response)) = match_and_response else {
            let leftovers = self.unused_rules().join("; ");
            return Err(match leftovers.as_str() {
                "" => "no rule is left".to_owned(),
                rules => format!("no rule expects it; left are: {rules}"),
            });
        };
        if let Some(tool) = response.offered_calls().find(|tool| !request.offers_tool(tool)) {
            let tool_names: Vec<_> = request.tools().iter().map(|tool| &tool.name).collect();
            return Err(format!(
                "{rule} calls `{tool}`, which the request does not offer (tools: {tool_names:?}, \
                 tool choice: {})",
                request.tool_choice().unwrap_or("not given")
            ));
        }
        response.delay = response.delay.or(self.delay);
        Ok(response)
    }

    /// Returns the rules with unused responses.
    pub(crate) fn unused_rules(&self) -> Vec<String> {
        lock(&self.rules)
            .iter()
            .filter_map(|rule| match rule.unused_answers() {
                0 => None,
                1 => Some(rule.to_string()),
                count => Some(format!("{rule} ({count} answers)")),
            })
            .collect()
    }
}
