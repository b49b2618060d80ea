//! Routes, as `docs/openapi.json` has them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{none, problems_of};

/// Where `cargo dev` listens.
const ORIGINS: [&str; 2] = ["http://127.0.0.1:9000/", "http://localhost:9000/"];

/// The methods that a route may have.
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

/// Every path with its methods, in capitals.
pub(super) struct Routes(BTreeMap<String, Vec<String>>);

impl Routes {
    pub(super) fn read() -> Self {
        let contract: Value =
            serde_json::from_str(include_str!("../../../../docs/openapi.json")).unwrap();
        let paths = contract["paths"].as_object().unwrap().iter();
        let methods = |operations: &Value| {
            operations.as_object().unwrap().keys().map(|method| method.to_uppercase()).collect()
        };
        Self(paths.map(|(path, operations)| (path.clone(), methods(operations))).collect())
    }

    /// What is wrong with `GET /runs/{run}`, or with a path that begins as one of ours does.
    pub(super) fn unknown_route(&self, span: &str) -> Option<String> {
        let (methods, path) = match span.split_once(" /") {
            Some((methods, path)) => (methods, path.split(' ').next()?),
            None => ("", span.strip_prefix('/')?),
        };
        let path = path.split(['?', '#']).next()?;
        let mut methods = methods.split(['|', '/']).filter(|word| !word.is_empty());
        let is_of_ours = match methods.clone().next() {
            Some(method) => METHODS.contains(&method),
            None => self.begins(path),
        };
        let is_known = match methods.clone().next() {
            None => self.has_beginning(path),
            Some(_) => methods.all(|method| self.has_route(path, method)),
        };
        (is_of_ours && !is_known).then(|| format!("`{span}` is no route"))
    }

    /// The URLs of `cargo dev` in a text that lead to no route.
    pub(super) fn unknown_urls(&self, text: &str) -> Vec<String> {
        let behind = ORIGINS.into_iter().flat_map(|origin| text.split(origin).skip(1));
        let is_end = |c: char| c.is_whitespace() || "'\"`?#)>,;|…".contains(c);
        let paths = behind.filter_map(|rest| rest.split(is_end).next());
        let unknown = paths.filter(|path| !self.has_beginning(path));
        unknown.map(|path| format!("/{path} is no route")).collect()
    }

    /// Whether the first word of a path is that of a route.
    fn begins(&self, path: &str) -> bool {
        let first = path.split('/').next();
        self.0.keys().any(|known| known.split('/').nth(1) == first)
    }

    fn has_route(&self, path: &str, method: &str) -> bool {
        let fits = |known: &str| {
            fits_beginning(known, path)
                && known.matches('/').count() == path.matches('/').count() + 1
        };
        let mut routes = self.0.iter().filter(|(known, _)| fits(known));
        routes.any(|(_, methods)| methods.iter().any(|known| known == method))
    }

    fn has_beginning(&self, path: &str) -> bool {
        let path = path.trim_end_matches(['/', '*', '…', '.']);
        path.is_empty() || self.0.keys().any(|known| fits_beginning(known, path))
    }
}

/// Whether a path is a route's or its beginning. A parameter may have any value, but no other name.
fn fits_beginning(known: &str, path: &str) -> bool {
    let mut known = known.split('/').skip(1);
    path.split('/').all(|part| match known.next() {
        Some(known) if known.starts_with('{') => {
            !part.is_empty() && (!part.starts_with('{') || part == known)
        }
        known => known == Some(part),
    })
}

#[test]
fn routes_of_the_contract_may_be_named() {
    for text in [
        "`GET /runs/{run}`, `POST /runs`, `GET /runs/{run}/events?from=3` and `GET|POST /respond/{token}`.",
        "`/runs`, `/runs/…`, `/runs/RUN/stop`, `/web/health`; but `/tmp`, `/usr/bin` and `a /b` are none.",
        "`curl http://127.0.0.1:9000/runs/$run/stop` and http://localhost:9000/.",
    ] {
        none(problems_of(text));
    }
}

#[test]
fn other_routes_are_noticed() {
    for (text, problem) in [
        ("`GET /run/{run}`.", "`GET /run/{run}` is no route"),
        ("`PUT /runs`.", "`PUT /runs` is no route"),
        ("`GET /runs/{id}`.", "`GET /runs/{id}` is no route"),
        ("`GET|PUT /respond/{token}`.", "is no route"),
        ("`POST /sessions/{session}`.", "is no route"),
        ("`/runs/{run}/halt`.", "`/runs/{run}/halt` is no route"),
        ("```sh\ncurl http://127.0.0.1:9000/halt\n```", "docs/a.md:2: /halt is no route"),
    ] {
        let problems = problems_of(text);
        assert!(
            matches!(&problems[..], [found] if found.contains(problem)),
            "{problem}: {problems:?}"
        );
    }
}
