//! Whatever is written as a URL: the guard never fails, and never lets an address through that is not public.

use std::net::{Ipv4Addr, Ipv6Addr};

use djinn_egress::EgressSettings;
use proptest::prelude::*;
use reqwest::Url;

/// What URLs that deceive are made of.
pub(crate) const PIECES: &[&str] = &[
    "http:",
    "https:",
    "HTTP:",
    "file:",
    "//",
    "/",
    "\\",
    "\\\\",
    "@",
    ":",
    ":80",
    ":443",
    ":0",
    ".",
    "..",
    "?",
    "#",
    "[",
    "]",
    "%",
    "%25",
    "%00",
    "%2e",
    "%31",
    "0x",
    "0X7f",
    "0177",
    "127",
    "0",
    "1",
    "10",
    "169",
    "254",
    "172.16",
    "192.168",
    "2130706433",
    "::",
    "::1",
    "::ffff:",
    "64:ff9b::",
    "2002:7f00:1::",
    "2001::",
    "fd00:ec2::254",
    "fe80::1%25lo",
    "127.0.0.1",
    "93.184.215.14",
    "[2606:4700::1111]",
    "localhost",
    "example.com",
    "metadata.google.internal",
    "user:pass",
    " ",
    "\t",
    "\n",
    "\0",
    "。",
    "．",
    "１２７",
    "①",
    "\u{ad}",
    "\u{200b}",
    "ß",
    "xn--",
    "xn--a",
    "é",
];

fn pieced() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(PIECES), 0..12).prop_map(|all| all.concat())
}

/// An address in any of the forms that are read as one.
fn literal() -> impl Strategy<Value = String> {
    let ipv4 = |spell: fn(Ipv4Addr) -> String| {
        any::<u32>().prop_map(move |bits| spell(Ipv4Addr::from_bits(bits)))
    };
    let ipv6 = any::<[u16; 8]>().prop_map(Ipv6Addr::from);
    let low = (any::<u16>(), any::<u32>(), any::<u64>());
    prop_oneof![
        ipv4(|address| address.to_string()),
        ipv4(|address| address.to_bits().to_string()),
        ipv4(|address| format!("{:#x}", address.to_bits())),
        ipv4(|address| format!("0{:o}", address.to_bits())),
        ipv4(|address| address.octets().map(|byte| format!("{byte:#x}")).join(".")),
        ipv4(|address| address.octets().map(|byte| format!("0{byte:o}")).join("。")),
        ipv4(|address| format!("[::ffff:{address}]")),
        ipv4(|address| format!("[64:ff9b::{address}]")),
        ipv6.prop_map(|address| format!("[{address}]")),
        low.prop_map(|(high, middle, low)| {
            let bits = (u128::from(high) << 112) | (u128::from(middle) << 64) | u128::from(low);
            format!("[{}]", Ipv6Addr::from_bits(bits))
        }),
    ]
}

/// The same question as the client's table answers, answered by other means.
fn is_surely_private(host: &str) -> bool {
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        let [first, second, ..] = address.octets();
        return address.is_private()
            || address.is_loopback()
            || address.is_link_local()
            || address.is_broadcast()
            || address.is_documentation()
            || address.is_multicast()
            || first == 0
            || first >= 224
            || (first == 100 && (64..128).contains(&second))
            || address.octets().starts_with(&[192, 0, 0]);
    }
    let Ok(address) = host.trim_matches(['[', ']']).parse::<Ipv6Addr>() else { return false };
    let [first, second, ..] = address.segments();
    !(0x2000..0x4000).contains(&first)
        || first == 0x2002
        || (first == 0x2001 && (second < 0x200 || second == 0xdb8))
}

/// What is wrong with what the guard says of a text.
pub(crate) fn judge(text: &str) -> Result<(), String> {
    let settings = EgressSettings::new([8080].into(), &[], false).unwrap();
    let Ok(url) = settings.check_url(text) else { return Ok(()) };
    let host = url.host_str().unwrap();
    let port = url.port_or_known_default().unwrap();
    let has_user = !url.username().is_empty() || url.password().is_some();
    // What is accepted means the same to whoever reads it again, and to the library of the connection.
    let again = settings.check_url(url.as_str()).ok();
    let uri = url.as_str().parse::<http::Uri>().ok();
    for (what, is_wrong) in [
        ("a private host", is_surely_private(host)),
        ("another scheme", !["http", "https"].contains(&url.scheme())),
        ("another port", ![80, 443, 8080].contains(&port)),
        ("a user", has_user),
        ("a long URL", url.as_str().len() > 2048),
        ("another URL the second time", again.as_ref() != Some(&url)),
        ("another URL for a parser", Url::parse(url.as_str()).ok().as_ref() != Some(&url)),
        ("another host for a client", uri.is_some_and(|uri| uri.host() != Some(host))),
    ] {
        if is_wrong {
            return Err(format!("{text:?} becomes {url}: {what}"));
        }
    }
    Ok(())
}

fn check(text: &str) -> Result<(), TestCaseError> {
    judge(text).map_err(TestCaseError::fail)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_judged(text in any::<String>()) {
        check(&text)?;
        check(&format!("http://{text}"))?;
    }

    #[test]
    fn pieces_of_urls_are_judged(text in pieced(), rest in pieced()) {
        check(&text)?;
        check(&format!("http://{text}"))?;
        check(&format!("https://{text}/{rest}"))?;
        check(&format!("http://{text}@{rest}"))?;
    }

    #[test]
    fn no_address_gets_through_that_is_not_public(host in literal(), rest in pieced()) {
        check(&format!("http://{host}/"))?;
        check(&format!("http://{host}"))?;
        check(&format!("https:{host}{rest}"))?;
        check(&format!("https:\\\\{host}\\{rest}"))?;
    }
}
