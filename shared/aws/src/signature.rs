//! Verification of request signatures, for local services without another access check.

use std::time::SystemTime;

use aws_sdk_dynamodb::config::Credentials;
use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use djinn_runtime::port::secret::Secret;

use crate::settings::LOCAL_ACCESS_KEY;

/// A request with a signature to verify.
#[derive(Debug, Clone, Copy)]
pub struct SignedRequest<'a> {
    /// The HTTP method in capitals, such as `GET`.
    pub method: &'a str,
    /// The path, with the query.
    pub path: &'a str,
    /// Names in small letters, and values.
    pub headers: &'a [(&'a str, &'a str)],
    /// The full body, covered by the signature.
    pub body: &'a [u8],
}

/// Returns true if a request's headers have a valid signature (Signature Version 4) for this secret key and
/// [`LOCAL_ACCESS_KEY`]. The age of the signature is not checked.
#[must_use]
pub fn is_signed(request: SignedRequest<'_>, key: &Secret) -> bool {
    signature_pair(request, key).is_some_and(|(actual, expected)| {
        // Texts of equal length are compared in constant time.
        let pairs = actual.bytes().zip(expected.bytes());
        let differ = pairs.fold(0, |differ, (a, b)| differ | (a ^ b));
        actual.len() == expected.len() && differ == 0
    })
}

/// Returns the actual and the expected signature.
fn signature_pair(request: SignedRequest<'_>, key: &Secret) -> Option<(String, String)> {
    let header = |header_name: &str| {
        let entry = request.headers.iter().find(|(name, _)| *name == header_name);
        entry.map(|(_, value)| *value)
    };
    let claim = header("authorization")?.strip_prefix("AWS4-HMAC-SHA256 ")?;
    let part = |name: &str| {
        let mut parts = claim.split(',').map(str::trim);
        parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
    };
    let mut credential = part("Credential")?.split('/');
    let access_key = credential.next()?;
    let _day = credential.next()?;
    let region = credential.next()?;
    let service = credential.next()?;
    let names: Vec<&str> = part("SignedHeaders")?.split(';').collect();
    if access_key != LOCAL_ACCESS_KEY || !names.contains(&"host") {
        return None;
    }
    // The signing library adds the time itself.
    let names = names.into_iter().filter(|name| *name != "x-amz-date");
    let headers: Vec<_> = names.map(|name| Some((name, header(name)?))).collect::<Option<_>>()?;
    let identity = Credentials::new(access_key, key.reveal(), None, None, "djinn-local").into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service)
        .time(parse_amz_date(header("x-amz-date")?)?)
        .settings(SigningSettings::default());
    let params = params.build().ok()?.into();
    let SignedRequest { method, path, body, .. } = request;
    let body = SignableBody::Bytes(body);
    let request = SignableRequest::new(method, path, headers.into_iter(), body).ok()?;
    let right = sign(request, &params).ok()?.signature().to_owned();
    Some((part("Signature")?.to_owned(), right))
}

/// Parses a time of the form `20261122T143802Z`, in UTC; `None` if invalid.
fn parse_amz_date(text: &str) -> Option<SystemTime> {
    let part = |from: usize, to: usize| text.get(from..to);
    let year = part(0, 4)?;
    let month = part(4, 6)?;
    let day = part(6, 8)?;
    let hour = part(9, 11)?;
    let minute = part(11, 13)?;
    let second = part(13, 15)?;
    let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z");
    let time = DateTime::from_str(&text, DateTimeFormat::DateTime).ok()?;
    SystemTime::try_from(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::tests::clients_over;
    use crate::replay::{Replay, response};
    use crate::settings::{Endpoints, Settings};

    /// A request as the SDK signs it, changed by `change`, and whether it is signed with `key`.
    async fn checked(
        key: &str,
        change: impl FnOnce(&mut Vec<(String, String)>, &mut Vec<u8>),
    ) -> bool {
        let http = Replay::new([response(200, "{}")]);
        let clients = clients_over(
            Settings { endpoints: Endpoints::default(), ..Settings::new("t", "b") },
            http.clone(),
        );
        let get = clients.dynamodb().await.get_item().table_name("t");
        let _ = get.send().await;
        let sent = http.take_requests().remove(0);
        let mut headers: Vec<_> = sent
            .headers()
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        if !headers.iter().any(|(name, _)| name == "host") {
            headers.push(("host".to_owned(), "dynamodb.eu-west-1.amazonaws.com".to_owned()));
        }
        let mut body = sent.body().bytes().unwrap().to_vec();
        change(&mut headers, &mut body);
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let request = SignedRequest { method: "POST", path: "/", headers: &headers, body: &body };
        is_signed(request, &Secret::new(key))
    }

    fn set(headers: &mut [(String, String)], name: &str, change: impl Fn(&str) -> String) {
        let header = headers.iter_mut().find(|(known, _)| known == name).unwrap();
        header.1 = change(&header.1);
    }

    #[tokio::test]
    async fn what_the_sdk_signs_counts_and_nothing_that_was_changed_since() {
        assert!(checked("key", |_, _| {}).await);
        assert!(!checked("another", |_, _| {}).await);
        assert!(!checked("key", |_, body| body.push(b' ')).await);
        assert!(
            !checked("key", |headers, _| headers.retain(|(name, _)| name != "authorization")).await
        );
        assert!(
            !checked("key", |headers, _| set(headers, "host", |_| "evil.example".into())).await
        );
        assert!(
            !checked("key", |headers, _| set(headers, "x-amz-target", |_| "X.DeleteTable".into()))
                .await
        );
        assert!(
            !checked("key", |headers, _| set(headers, "x-amz-date", |_| "20010203T040506Z".into()))
                .await
        );
        for (from, to) in [
            ("Credential=djinn/", "Credential=other/"),
            ("Signature=", "Signature=0"),
            ("host;", ""),
        ] {
            let changed = |headers: &mut Vec<_>, _: &mut Vec<u8>| {
                set(headers, "authorization", |value| value.replace(from, to));
            };
            assert!(!checked("key", changed).await, "{from}");
        }
    }
}
