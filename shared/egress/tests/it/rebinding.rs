//! Names whose addresses change between a check and a connection.

use std::slice;
use std::sync::Arc;
use std::time::Duration;

use djinn_egress::{
    AddressProblem, AddressRange, Egress, EgressError, EgressRequest, EgressSettings,
    PublicResolver,
};
use reqwest::dns::Resolve as _;

use super::server::{TestServer, redirect};
use super::world::{NOBODY, ScriptedLookup, SilentLookup, Watch, quick_limits};

#[tokio::test]
async fn a_name_is_resolved_once_for_a_connection() {
    let watch = Watch::start().await;
    let lookup = ScriptedLookup::default();
    let lookup = Arc::new(lookup.with_answers("rebind.example", &[&[NOBODY], &["127.0.0.1"]]));
    let settings = EgressSettings::new([watch.port].into(), &[], false).unwrap();
    let client = Egress::with_lookup(settings.with_limits(quick_limits()), lookup.clone()).unwrap();
    let url = format!("http://rebind.example:{}/", watch.port);
    let error = client.send(EgressRequest::get(&url)).await.unwrap_err();
    // What the network makes of an address that nobody has.
    assert!(["unreachable", "too_slow"].contains(&error.code()), "{error}");
    assert_eq!(lookup.asked(), ["rebind.example"]);
    // Who asks again is given the second answer, and that is refused.
    let error = client.send(EgressRequest::get(&url)).await.unwrap_err();
    let why = AddressProblem::ResolvesTo(AddressRange::Loopback);
    assert_eq!(error, EgressError::Address { url, why });
    assert_eq!(lookup.asked().len(), 2);
    assert_eq!(watch.count_connects().await, 0);
}

#[tokio::test]
async fn only_public_addresses_are_connected_to() {
    let private = ["127.0.0.1", "10.0.0.1", "::1", "fd00:ec2::254", "::ffff:169.254.169.254"];
    let mixed = [&private[..], &["93.184.215.14", "64:ff9b::a00:1", NOBODY]].concat();
    let many: Vec<_> = (0..100).map(|number| format!("93.184.215.{number}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let lookup = ScriptedLookup::default()
        .with_answers("mixed.example", &[&mixed])
        .with_answers("private.example", &[&private])
        .with_answers("many.example", &[&many])
        .with_answers("empty.example", &[&[]]);
    let resolver = PublicResolver::new(Arc::new(lookup));
    let resolve = async |name: &str| match resolver.resolve(name.parse().unwrap()).await {
        Ok(addresses) => Ok(addresses.map(|address| address.to_string()).collect::<Vec<_>>()),
        Err(error) => Err(error.to_string()),
    };
    let public = vec!["93.184.215.14:0".to_owned(), format!("[{NOBODY}]:0")];
    assert_eq!(resolve("mixed.example").await, Ok(public));
    let refused = "the name leads to an address of this machine".to_owned();
    assert_eq!(resolve("private.example").await, Err(refused));
    assert_eq!(resolve("many.example").await.unwrap().len(), 8);
    assert!(resolve("empty.example").await.is_err());
    assert!(resolve("unknown.example").await.is_err());
}

#[tokio::test]
async fn a_redirect_to_a_name_that_has_changed_is_refused() {
    let watch = Watch::start().await;
    let location = format!("http://rebind.example:{}/", watch.port);
    let server = TestServer::start(move |_| redirect("302 Found", &location)).await;
    let settings = EgressSettings::new([watch.port].into(), slice::from_ref(&server.origin), true);
    let lookup = ScriptedLookup::default().with_answers("rebind.example", &[&["127.0.0.1"]]);
    let client = Egress::with_lookup(settings.unwrap(), Arc::new(lookup)).unwrap();
    let error = client.send(EgressRequest::get(&server.url("/"))).await.unwrap_err();
    assert_eq!(error.code(), "address_refused", "{error}");
    assert_eq!(watch.count_connects().await, 0);
}

// The clock goes on by itself where everybody waits.
#[tokio::test(start_paused = true)]
async fn a_lookup_without_an_answer_takes_no_longer_than_a_connection() {
    let settings = EgressSettings::new([].into(), &[], false).unwrap();
    let client = Egress::with_lookup(settings, Arc::new(SilentLookup)).unwrap();
    let request = client.send(EgressRequest::get("https://example.com/"));
    let outcome = tokio::time::timeout(Duration::from_millis(3100), request).await.unwrap();
    assert_eq!(outcome, Err(EgressError::TooSlow { host: "example.com".to_owned() }));
}
