//! Fetches and caches each site's robots.txt.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use djinn_egress::{Egress, EgressError, EgressRequest, EgressResponse};
use robotxt::Robots;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use url::Url;

/// The agent name for robots.txt.
pub(crate) const AGENT: &str = "DjinnBot";
/// Time for which a response is cached.
const KEPT_FOR: Duration = Duration::from_secs(60 * 60);
/// Time for which a failure is cached.
const DOUBTED_FOR: Duration = Duration::from_secs(60);
/// Maximum number of cached sites.
const MAX_SITES: usize = 500;
/// Maximum size of robots.txt, in bytes; RFC 9309 sets the minimum.
const MAX_BYTES: u64 = 500 * 1024;

/// The error for sites whose rules cannot be compared with a URL.
const UNREADABLE: &str = "The robots.txt of the site cannot be read.";

/// A site's rules.
#[derive(Debug)]
enum SiteRules {
    /// The site's rules, possibly empty.
    Known(Robots),
    /// The rules are unknown; the text is the reason.
    Unknown(String),
}

/// A cached site, with the time of the entry.
#[derive(Clone)]
struct KnownSite {
    since: Instant,
    rules: Arc<OnceCell<SiteRules>>,
}

/// A cache of the most recently fetched sites' rules.
#[derive(Default)]
pub(crate) struct RobotsCache {
    sites: Mutex<BTreeMap<String, KnownSite>>,
}

impl RobotsCache {
    /// Returns the reason if a page must not be read; `None` if the site allows the page.
    pub(crate) async fn find_refusal(&self, egress: &Egress, url: &Url) -> Option<String> {
        let rules = self.find_site(&url.origin().ascii_serialization());
        let fetch_rules = async || {
            let Ok(address) = url.join("/robots.txt") else {
                return SiteRules::Known(Robots::allow_all());
            };
            let request = EgressRequest::get(address.as_str()).with_header("User-Agent", AGENT);
            let answer = egress.send(EgressRequest { max_bytes: MAX_BYTES, ..request }).await;
            let host = url.host_str().unwrap_or_default().to_owned();
            let reading = spawn_blocking(move || read_rules(answer, &host));
            reading.await.unwrap_or_else(|_| SiteRules::Unknown(UNREADABLE.to_owned()))
        };
        rules.get_or_init(fetch_rules).await;
        let url = url.clone();
        // In a blocking thread, because up to 40 000 patterns are compared with the URL.
        let comparison = spawn_blocking(move || rules.get().map(|rules| rules.find_refusal(&url)));
        comparison.await.ok().flatten().unwrap_or_else(|| Some(UNREADABLE.to_owned()))
    }

    /// Returns the cache entry of a site. The first caller fills the entry, and later callers wait.
    fn find_site(&self, origin: &str) -> Arc<OnceCell<SiteRules>> {
        let now = Instant::now();
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        sites.retain(|_, site| {
            let lifetime = match site.rules.get() {
                Some(SiteRules::Unknown(_)) => DOUBTED_FOR,
                Some(SiteRules::Known(_)) | None => KEPT_FOR,
            };
            now.duration_since(site.since) < lifetime
        });
        if let Some(site) = sites.get(origin) {
            return Arc::clone(&site.rules);
        }
        if sites.len() >= MAX_SITES {
            let oldest = sites.iter().min_by_key(|(_, site)| site.since);
            if let Some(oldest) = oldest.map(|(origin, _)| origin.clone()) {
                sites.remove(&oldest);
            }
        }
        let site = KnownSite { since: now, rules: Arc::default() };
        sites.insert(origin.to_owned(), site.clone());
        site.rules
    }
}

impl SiteRules {
    fn find_refusal(&self, url: &Url) -> Option<String> {
        match self {
            Self::Known(robots) if robots.is_url_allowed(url) => None,
            Self::Known(_) => {
                let host = url.host_str().unwrap_or_default();
                Some(format!("The robots.txt of {host} asks programs not to read this page."))
            }
            Self::Unknown(why) => Some(why.clone()),
        }
    }
}

fn read_rules(answer: Result<EgressResponse, EgressError>, host: &str) -> SiteRules {
    match answer {
        Ok(response) => match response.status {
            200..300 => SiteRules::Known(Robots::parse(&response.body, AGENT)),
            500.. => SiteRules::Unknown(format!(
                "The robots.txt of {host} could not be read (status {}): try again later.",
                response.status
            )),
            _ => SiteRules::Known(Robots::allow_all()),
        },
        // If the address is not opened, the page is not opened either. Endless redirects count as a missing
        // file.
        Err(EgressError::Address { .. } | EgressError::TooManyRedirects { .. }) => {
            SiteRules::Known(Robots::allow_all())
        }
        Err(error) => SiteRules::Unknown(format!(
            "The robots.txt of {host} could not be read, because {error}: try again later."
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn answer(status: u16, body: &str) -> Result<EgressResponse, EgressError> {
        Ok(EgressResponse {
            url: url("https://example.com/robots.txt"),
            status,
            content_type: None,
            headers: Vec::new(),
            body: body.as_bytes().to_vec(),
            is_cut: false,
        })
    }

    #[test]
    fn a_site_decides_and_one_that_says_nothing_lets_everybody_in() {
        let robots = "User-agent: *\nDisallow: /private\nAllow: /private/open\n\n\
                      User-agent: djinnbot\nDisallow: /no-djinn";
        let host = "example.com".to_owned();
        let unreachable = || Err(EgressError::TooSlow { host: host.clone() });
        let forbidden = "The robots.txt of example.com asks programs not to read this page.";
        for (found, path, expected) in [
            (answer(200, robots), "/a", None),
            (answer(200, robots), "/no-djinn/a?b", Some(forbidden)),
            (answer(200, robots), "/private/a", None),
            (answer(200, "User-agent: *\nDisallow: /"), "/a", Some(forbidden)),
            (answer(200, "User-agent: GPTBot\nDisallow: /"), "/a", None),
            (answer(200, "<html>no rules</html>"), "/a", None),
            (answer(200, ""), "/a", None),
            (answer(404, "Disallow: /"), "/a", None),
            (answer(403, ""), "/a", None),
            (
                answer(503, ""),
                "/a",
                Some(
                    "The robots.txt of example.com could not be read (status 503): try again later.",
                ),
            ),
            (
                unreachable(),
                "/a",
                Some(
                    "The robots.txt of example.com could not be read, because example.com did not \
                     answer in time: try again later.",
                ),
            ),
        ] {
            let refusal =
                read_rules(found, &host).find_refusal(&url(&format!("https://example.com{path}")));
            assert_eq!(refusal.as_deref(), expected, "{path}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_site_that_did_not_say_is_asked_again_after_a_minute() {
        let cache = RobotsCache::default();
        let silent = cache.find_site("https://a");
        silent.set(SiteRules::Unknown("try again later".to_owned())).unwrap();
        tokio::time::advance(DOUBTED_FOR / 2).await;
        assert!(Arc::ptr_eq(&silent, &cache.find_site("https://a")));
        tokio::time::advance(DOUBTED_FOR / 2).await;
        let again = cache.find_site("https://a");
        assert!(!Arc::ptr_eq(&silent, &again));
        again.set(SiteRules::Known(Robots::allow_all())).unwrap();
        tokio::time::advance(KEPT_FOR / 2).await;
        assert!(Arc::ptr_eq(&again, &cache.find_site("https://a")));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_kept_for_an_hour_and_the_oldest_makes_room() {
        let cache = RobotsCache::default();
        let first = cache.find_site("https://a");
        assert!(Arc::ptr_eq(&first, &cache.find_site("https://a")));
        tokio::time::advance(KEPT_FOR / 2).await;
        for number in 1..MAX_SITES {
            cache.find_site(&format!("https://{number}"));
        }
        assert!(Arc::ptr_eq(&first, &cache.find_site("https://a")));
        cache.find_site("https://b");
        assert_eq!(cache.sites.lock().unwrap().len(), MAX_SITES);
        let again = cache.find_site("https://a");
        assert!(!Arc::ptr_eq(&first, &again));
        tokio::time::advance(KEPT_FOR).await;
        assert!(!Arc::ptr_eq(&again, &cache.find_site("https://a")));
        assert_eq!(cache.sites.lock().unwrap().len(), 1);
    }
}
