//! Every way to write an address that is not public, sent straight and as a redirect: nobody connects.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;
use std::sync::Arc;

use djinn_egress::{Egress, EgressError, EgressRequest, EgressSettings};
use serde::Deserialize;

use super::server::{TestServer, page, redirect};
use super::world::{ScriptedLookup, Watch};

/// What is written, by what is wrong with it, and the addresses of names.
#[derive(Deserialize)]
struct Table {
    names: BTreeMap<String, Vec<String>>,
    spellings: BTreeMap<String, Vec<String>>,
}

impl Table {
    /// What is wrong and how it is written, with the port that is watched.
    fn spellings(&self, port: u16) -> Vec<(&str, String)> {
        let fill = |text: &String| {
            text.replace("{port}", &port.to_string()).replace("{long}", &"a".repeat(2048))
        };
        let of_problem = |(problem, texts)| {
            let (problem, texts): (&String, &Vec<String>) = (problem, texts);
            texts.iter().map(move |text| (problem.as_str(), fill(text)))
        };
        self.spellings.iter().flat_map(of_problem).collect()
    }

    fn lookup(&self) -> Arc<ScriptedLookup> {
        let mut lookup = ScriptedLookup::default();
        for (name, addresses) in &self.names {
            let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
            lookup = lookup.with_answers(name, &[&addresses]);
        }
        Arc::new(lookup)
    }
}

fn name_problem(error: &EgressError) -> String {
    match error {
        EgressError::Address { why, .. } => format!("{why:?}"),
        EgressError::Unreachable { .. } => "Unreachable".to_owned(),
        error => format!("{error:?}"),
    }
}

#[tokio::test]
async fn no_spelling_of_a_private_address_is_connected_to() {
    let table: Table = toml::from_str(include_str!("spellings.toml")).unwrap();
    let watch = Watch::start().await;
    let spellings = table.spellings(watch.port);
    let distinct: BTreeSet<_> = spellings.iter().map(|(_, text)| text).collect();
    assert_eq!(distinct.len(), spellings.len(), "a spelling stands there twice");
    assert!(spellings.len() >= 120, "{} spellings", spellings.len());

    // The watched port is allowed, so that it is the address for which each is refused.
    let ports = BTreeSet::from([watch.port, 9001]);
    let settings = EgressSettings::new(ports.clone(), &[], false).unwrap();
    let settings = settings.with_runtime_api("127.0.0.1:9001").unwrap();
    let client = Egress::with_lookup(settings, table.lookup()).unwrap();
    let mut wrong = Vec::new();
    for (problem, text) in &spellings {
        match client.send(EgressRequest::get(text)).await {
            Err(error) if name_problem(&error) == *problem => {}
            outcome => wrong.push(format!("{problem}: {text:?}: {outcome:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let redirected = send_as_redirects(&table, ports, &spellings).await;
    let connects = watch.count_connects().await;
    println!(
        "{} spellings, {connects} connects ({redirected} once more as redirects)",
        spellings.len()
    );
    assert_eq!(connects, 0);
}

/// Sends each that fits into a header as a redirect, and says how many there were.
async fn send_as_redirects(
    table: &Table,
    ports: BTreeSet<u16>,
    spellings: &[(&str, String)],
) -> usize {
    let fits = |text: &&String| !text.contains(['\r', '\n', '\0']);
    let texts: Vec<_> = spellings.iter().map(|(_, text)| text).filter(fits).cloned().collect();
    let locations = texts.clone();
    let server = TestServer::start(move |received| {
        let number = received.path.strip_prefix("/to/").and_then(|number| number.parse().ok());
        match number.and_then(|number: usize| locations.get(number)) {
            Some(location) => redirect("302 Found", location),
            None => page("a relative redirect"),
        }
    })
    .await;
    let settings = EgressSettings::new(ports, slice::from_ref(&server.origin), true).unwrap();
    let settings = settings.with_runtime_api("127.0.0.1:9001").unwrap();
    let client = Egress::with_lookup(settings, table.lookup()).unwrap();
    for (number, text) in texts.iter().enumerate() {
        let request = EgressRequest::get(&server.url(&format!("/to/{number}")));
        if let Ok(response) = client.send(request).await {
            let came_from = response.url.origin().ascii_serialization();
            assert_eq!(came_from, server.origin, "{text:?} leads to {}", response.url);
        }
    }
    texts.len()
}
