//! Signs links for a client.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use djinn_core::id::UserId;
use djinn_protocol::link::{FileLinks, ResponseLinks};
use djinn_runtime::port::file_url::Folder;
use djinn_runtime::port::{RunKey, SessionKey};
use djinn_runtime::settings::to_millis;

use super::token::{FileGrant, LinkKeys, ResponseGrant};
use super::{LinkKeySource, RESPONSES, SignedLinks};

const HOUR_MS: i64 = 60 * 60 * 1_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// End of a link to a file, counted from the start of the link's day (UTC). A link is valid for 12 to 36
/// hours, and all links of a day are equal.
const FILE_LIFE_MS: i64 = 36 * HOUR_MS;

/// The time of a client's request, and true if the request starts the run.
#[derive(Clone, Copy)]
pub(crate) struct ConnectTime {
    pub(crate) ms: i64,
    pub(crate) is_new: bool,
}

/// Signs links for one client. Creates no links until the keys are read.
pub(crate) struct LinkSigner {
    base: String,
    ttl_ms: i64,
    keys: Arc<OnceLock<Arc<LinkKeys>>>,
}

impl SignedLinks {
    /// Returns a signer for a client at this origin. Links for responses are valid for `ttl`. A new run has no files and no human requests yet, and
    /// does not wait for the keys.
    pub(crate) async fn link_signer(
        self: Arc<Self>,
        origin: String,
        ttl: Duration,
        now: ConnectTime,
    ) -> LinkSigner {
        let base = self.url.clone().unwrap_or(origin);
        let ttl_ms = to_millis(ttl);
        let is_stored = matches!(self.source, LinkKeySource::Stored(_));
        let keys = Arc::new(OnceLock::new());
        let shared_keys = Arc::clone(&keys);
        let reading = async move {
            if let Some(list) = self.load_keys(now.ms).await {
                let _ = shared_keys.set(list);
            }
        };
        if now.is_new && is_stored {
            drop(tokio::spawn(reading));
        } else {
            reading.await;
        }
        LinkSigner { base, ttl_ms, keys }
    }
}

impl LinkSigner {
    /// Returns links for responding to the run's human requests in this user's name. Anyone with a link can
    /// respond.
    pub(crate) fn response_links(&self, run: &RunKey, user: UserId) -> ResponseLinks {
        let base = self.base.clone();
        let ttl_ms = self.ttl_ms;
        let keys = Arc::clone(&self.keys);
        let run = run.clone();
        ResponseLinks::new(move |ask, at_ms| {
            let latest_ms = at_ms.saturating_add(ttl_ms);
            let grant = ResponseGrant {
                tenant: run.tenant.clone(),
                user: user.clone(),
                run: run.run.clone(),
                human_request: ask.id.clone(),
                digest: ask.digest.clone(),
                expires_at_ms: ask.expires_at_ms.map_or(latest_ms, |at_ms| at_ms.min(latest_ms)),
            };
            Some(format!("{base}{RESPONSES}{}", keys.get()?.sign_response(&grant)?))
        })
    }

    /// Returns links to the session's files. Anyone with a link can open the file.
    pub(crate) fn file_links(&self, session: &SessionKey) -> FileLinks {
        let keys = Arc::clone(&self.keys);
        let folder = Folder::from(session);
        FileLinks::new(self.base.clone(), move |file, at_ms| {
            keys.get()?.sign_file(&FileGrant {
                folder: folder.clone(),
                name: file.name.clone(),
                object: file.object.clone(),
                expires_at_ms: file_expiry_ms(at_ms),
            })
        })
    }
}

/// Returns the expiry of a file link created at `at_ms`, both Unix milliseconds.
fn file_expiry_ms(at_ms: i64) -> i64 {
    at_ms.div_euclid(DAY_MS).saturating_mul(DAY_MS).saturating_add(FILE_LIFE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_a_day_end_together_and_none_lives_for_less_than_12_hours_or_more_than_36() {
        let midnight = 20_000 * DAY_MS;
        for (at_ms, left_ms) in [
            (midnight, 36 * HOUR_MS),
            (midnight + 1, 36 * HOUR_MS - 1),
            (midnight + DAY_MS - 1, 12 * HOUR_MS + 1),
            (midnight + DAY_MS, 36 * HOUR_MS),
        ] {
            assert_eq!(file_expiry_ms(at_ms) - at_ms, left_ms);
        }
    }
}
