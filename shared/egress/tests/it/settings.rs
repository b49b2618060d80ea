//! What an operator may allow, and where.

use std::time::Duration;

use djinn_egress::{
    AddressProblem, AddressRange, EgressError, EgressLimits, EgressSettings, SettingsError,
};

fn settings(
    ports: &[u16],
    origins: &[&str],
    is_local: bool,
) -> Result<EgressSettings, SettingsError> {
    let origins: Vec<_> = origins.iter().map(|&origin| origin.to_owned()).collect();
    EgressSettings::new(ports.iter().copied().collect(), &origins, is_local)
}

/// Why a URL is refused, or `None` if it is not.
fn problem(settings: &EgressSettings, url: &str) -> Option<AddressProblem> {
    match settings.check_url(url) {
        Ok(_) => None,
        Err(EgressError::Address { why, .. }) => Some(why),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn production_has_these_bounds() {
    let bounds = EgressLimits {
        total_time: Duration::from_secs(15),
        connect_time: Duration::from_secs(3),
        redirects: 5,
        at_once: 16,
        per_host: 4,
        body_bytes: 5_000_000,
    };
    assert_eq!(EgressLimits::default(), bounds);
}

#[test]
fn origins_of_the_machine_are_refused_unless_it_is_a_laptop() {
    let origins = ["http://127.0.0.1:8080"];
    assert_eq!(settings(&[], &origins, false).unwrap_err(), SettingsError::NotLocal);
    assert!(settings(&[], &[], false).is_ok());
    assert!(settings(&[], &origins, true).is_ok());
}

#[test]
fn only_an_origin_of_the_machine_can_be_named() {
    for text in [
        "",
        "127.0.0.1:8080",
        "http://localhost:8080",
        "http://10.0.0.1",
        "http://169.254.169.254",
        "http://0.0.0.0:80",
        "http://example.com",
        "http://127.0.0.1:8080/path",
        "http://127.0.0.1:8080/?query",
        "http://user@127.0.0.1:8080",
        "file://127.0.0.1/",
        "ftp://127.0.0.1",
    ] {
        let error = settings(&[], &[text], true).unwrap_err();
        assert_eq!(error, SettingsError::Origin(text.to_owned()));
    }
}

#[test]
fn exactly_the_named_origins_are_open() {
    let named = ["http://127.0.0.1:8080", "https://[::1]:8443", "http://127.0.0.9"];
    let settings = settings(&[], &named, true).unwrap();
    for url in [
        "http://127.0.0.1:8080/any?page#here",
        "http://0x7f.1:8080/",
        "https://[::1]:8443/",
        "http://127.0.0.9:80/",
    ] {
        assert_eq!(problem(&settings, url), None, "{url}");
    }
    for url in [
        "https://127.0.0.1:8080/",
        "http://127.0.0.1:8081/",
        "http://127.0.0.2:8080/",
        "http://[::1]:8443/",
        "https://127.0.0.9/",
    ] {
        let loopback = AddressProblem::Literal(AddressRange::Loopback);
        assert_eq!(problem(&settings, url), Some(loopback), "{url}");
    }
    let mapped = AddressProblem::Literal(AddressRange::Ipv4InIpv6);
    assert_eq!(problem(&settings, "http://[::ffff:127.0.0.1]:8080/"), Some(mapped));
    assert_eq!(problem(&settings, "http://localhost:8080/"), Some(AddressProblem::LocalName));
    let user_info = problem(&settings, "http://a@127.0.0.1:8080/");
    assert_eq!(user_info, Some(AddressProblem::UserInfo));
}

#[test]
fn the_runtime_api_is_refused_even_if_it_is_named() {
    for address in ["127.0.0.1:9001", "127.0.0.1:9001/agent", "169.254.100.1:9001"] {
        let settings = settings(&[9001], &["http://127.0.0.1:9001", "http://127.0.0.1:9002"], true);
        let settings = settings.unwrap().with_runtime_api(address).unwrap();
        for url in ["http://127.0.0.1:9001/", "http://[::1]:9001/", "http://localhost:9001/"] {
            assert_eq!(problem(&settings, url), Some(AddressProblem::RuntimeApi), "{url}");
        }
        assert_eq!(problem(&settings, "http://127.0.0.1:9002/"), None);
        assert_eq!(problem(&settings, "http://example.com:9001/"), None);
    }
    let error = settings(&[], &[], false).unwrap().with_runtime_api("127.0.0.1:x").unwrap_err();
    assert_eq!(error, SettingsError::RuntimeApi("127.0.0.1:x".to_owned()));
}

#[test]
fn ports_are_open_that_are_usual_or_named() {
    let settings = settings(&[8443], &[], false).unwrap();
    for url in [
        "http://example.com/",
        "https://example.com/",
        "http://example.com:443/",
        "https://example.com:80/",
        "https://example.com:8443/",
        "http://[2606:4700:4700::1111]:8443/",
    ] {
        assert_eq!(problem(&settings, url), None, "{url}");
    }
    let refused = problem(&settings, "https://example.com:8444/");
    assert_eq!(refused, Some(AddressProblem::Port(8444)));
}

#[test]
fn a_url_is_as_long_as_it_may_be() {
    let settings = settings(&[], &[], false).unwrap();
    let url = |bytes: usize| {
        let start = "https://example.com/";
        format!("{start}{}", "a".repeat(bytes - start.len()))
    };
    assert_eq!(problem(&settings, &url(2048)), None);
    assert_eq!(problem(&settings, &url(2049)), Some(AddressProblem::TooLong));
    // What is three times as long as soon as it is encoded.
    let blanks = format!("https://example.com/{}x", " ".repeat(1000));
    assert_eq!(problem(&settings, &blanks), Some(AddressProblem::TooLong));
}

#[test]
fn errors_are_sentences_that_are_short_and_on_one_line() {
    let settings = settings(&[], &[], false).unwrap();
    let error = settings.check_url("http://10.0.0.1/a").unwrap_err();
    let sentence = "http://10.0.0.1/a is not opened: it names an address of a private network";
    assert_eq!((error.to_string().as_str(), error.code()), (sentence, "address_refused"));
    let long = format!("ftp://example.com/\n{}", "x".repeat(3000));
    let sentence = settings.check_url(&long).unwrap_err().to_string();
    assert!(sentence.len() < 300 && !sentence.contains('\n'), "{sentence}");
}
