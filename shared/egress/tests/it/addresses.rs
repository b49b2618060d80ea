//! Every range of addresses, at its edges.

use std::net::IpAddr;

use djinn_egress::{find_range, is_public};

/// A line each: first and last address of what is not public, its name, and a public neighbour on
/// each side, or `-` where there is none.
const RANGES: &str = include_str!("ranges.txt");

#[test]
fn ranges_end_where_they_should() {
    let lines = RANGES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut count = 0;
    for line in lines {
        let words: Vec<_> = line.split_whitespace().collect();
        let [first, last, name, before, after] = words[..] else { panic!("{line}") };
        for edge in [first, last] {
            let range = find_range(edge.parse().unwrap()).map(|range| format!("{range:?}"));
            assert_eq!(range.as_deref(), Some(name), "{edge} of {line}");
        }
        for neighbour in [before, after].into_iter().filter(|neighbour| *neighbour != "-") {
            let address: IpAddr = neighbour.parse().unwrap();
            assert!(is_public(address), "{neighbour} beside {line}: {:?}", find_range(address));
        }
        count += 1;
    }
    assert!(count >= 39, "{count} ranges");
}

#[test]
fn addresses_of_real_servers_are_public() {
    for text in [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.215.14",
        "52.94.236.248",
        "2606:4700:4700::1111",
        "2a00:1450:4001:80b::200e",
        "2001:4860:4860::8888",
        "2600:1f18::1",
        "2400:cb00::1",
    ] {
        assert!(is_public(text.parse().unwrap()), "{text}");
    }
}
