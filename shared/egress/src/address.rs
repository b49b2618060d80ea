//! The table of address ranges outside the public Internet.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use AddressRange::{
    Benchmarking, CloudService, Documentation, Ipv4InIpv6, LinkLocal, Loopback, Multicast, Nat64,
    Private, ProtocolAssignment, Reserved, SharedAddress, SixToFour, Teredo, ThisNetwork,
    UniqueLocal,
};

/// An address range outside the public Internet; connections are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressRange {
    /// An address for measurements of network devices.
    Benchmarking,
    /// A cloud provider's service for its own machines, at an address in a public range.
    CloudService,
    /// An address for examples in texts.
    Documentation,
    /// An IPv4 address in the form of an IPv6 address.
    Ipv4InIpv6,
    /// An address of the local link, instance metadata included.
    LinkLocal,
    /// The machine's own address.
    Loopback,
    /// A multicast or broadcast address, for many machines at once.
    Multicast,
    /// Translated to an IPv4 address on the way.
    Nat64,
    /// An address of a private IPv4 network, or of the former IPv6 equivalent.
    Private,
    /// An address assigned to protocols, not to machines.
    ProtocolAssignment,
    /// An unassigned or formerly assigned address.
    Reserved,
    /// An address between a provider and its customers (RFC 6598).
    SharedAddress,
    /// An address that forwards to the embedded IPv4 address.
    SixToFour,
    /// An address that forwards to the embedded IPv4 address, through a relay.
    Teredo,
    /// `0.0.0.0` and `::`, which lead to the local machine, and the rest of `0.0.0.0/8`.
    ThisNetwork,
    /// An address of a private IPv6 network.
    UniqueLocal,
}

/// From IANA's registry of special-purpose addresses. Addresses that are globally reachable only for a
/// protocol are rejected too.
const IPV4_RANGES: [(Ipv4Addr, u32, AddressRange); 20] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, ThisNetwork),
    (Ipv4Addr::new(10, 0, 0, 0), 8, Private),
    (Ipv4Addr::new(100, 64, 0, 0), 10, SharedAddress),
    (Ipv4Addr::new(127, 0, 0, 0), 8, Loopback),
    // Azure's wire server, with the configuration of the machine.
    (Ipv4Addr::new(168, 63, 129, 16), 32, CloudService),
    (Ipv4Addr::new(169, 254, 0, 0), 16, LinkLocal),
    (Ipv4Addr::new(172, 16, 0, 0), 12, Private),
    (Ipv4Addr::new(192, 0, 0, 0), 24, ProtocolAssignment),
    (Ipv4Addr::new(192, 0, 2, 0), 24, Documentation),
    (Ipv4Addr::new(192, 31, 196, 0), 24, ProtocolAssignment),
    (Ipv4Addr::new(192, 52, 193, 0), 24, ProtocolAssignment),
    (Ipv4Addr::new(192, 88, 99, 0), 24, SixToFour),
    (Ipv4Addr::new(192, 168, 0, 0), 16, Private),
    (Ipv4Addr::new(192, 175, 48, 0), 24, ProtocolAssignment),
    (Ipv4Addr::new(198, 18, 0, 0), 15, Benchmarking),
    (Ipv4Addr::new(198, 51, 100, 0), 24, Documentation),
    (Ipv4Addr::new(203, 0, 113, 0), 24, Documentation),
    (Ipv4Addr::new(224, 0, 0, 0), 4, Multicast),
    (Ipv4Addr::new(255, 255, 255, 255), 32, Multicast),
    (Ipv4Addr::new(240, 0, 0, 0), 4, Reserved),
];

/// The first matching range counts.
const IPV6_RANGES: [(Ipv6Addr, u32, AddressRange); 19] = [
    (Ipv6Addr::UNSPECIFIED, 128, ThisNetwork),
    (Ipv6Addr::LOCALHOST, 128, Loopback),
    (Ipv6Addr::UNSPECIFIED, 96, Ipv4InIpv6),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, Ipv4InIpv6),
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, Ipv4InIpv6),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, Nat64),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, Nat64),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, Teredo),
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48, Benchmarking),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, ProtocolAssignment),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, Documentation),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, SixToFour),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48, ProtocolAssignment),
    (Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 16, Reserved),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, Documentation),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, UniqueLocal),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, LinkLocal),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, Private),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, Multicast),
];

/// The range of all global IPv6 addresses assigned so far.
const IPV6_GLOBAL: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Returns true for an address of the public Internet.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    find_range(address).is_none()
}

/// Returns the range of a non-public address; `None` for a public address.
#[must_use]
pub fn find_range(address: IpAddr) -> Option<AddressRange> {
    match address {
        IpAddr::V4(address) => {
            let is_in_range = |start: Ipv4Addr, bits: u32| {
                (start.to_bits() ^ address.to_bits()).leading_zeros() >= bits
            };
            let row = IPV4_RANGES.iter().find(|(start, bits, _)| is_in_range(*start, *bits));
            row.map(|(_, _, range)| *range)
        }
        IpAddr::V6(address) => {
            let is_in_range = |start: Ipv6Addr, bits: u32| {
                (start.to_bits() ^ address.to_bits()).leading_zeros() >= bits
            };
            let row = IPV6_RANGES.iter().find(|(start, bits, _)| is_in_range(*start, *bits));
            match row {
                Some((_, _, range)) => Some(*range),
                None if is_in_range(IPV6_GLOBAL.0, IPV6_GLOBAL.1) => None,
                None => Some(Reserved),
            }
        }
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Benchmarking => "an address for measurements",
            CloudService => "an address of a cloud provider's own",
            Documentation => "an address for examples",
            Ipv4InIpv6 => "an IPv4 address in the form of an IPv6 address",
            LinkLocal => "an address of the network around this machine",
            Loopback => "an address of this machine",
            Multicast => "an address of many machines",
            Nat64 => "an IPv4 address that is translated on the way",
            Private | UniqueLocal => "an address of a private network",
            ProtocolAssignment => "an address of a protocol",
            Reserved => "an address that nobody has",
            SharedAddress => "an address of a provider's network",
            SixToFour | Teredo => "an IPv4 address behind a relay",
            ThisNetwork => "an address without a machine",
        })
    }
}
