//! Signatures of requests to AWS (Signature Version 4).

use std::time::SystemTime;

use anyhow::{Context as _, Result};
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, SignableBody, SignableRequest, SigningSettings, sign,
};
use aws_sigv4::sign::v4::SigningParams;
use djinn_local::Var;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Body, Request, Url};

/// Signs requests to a function URL or a REST API.
pub(crate) struct RequestSigner {
    credentials: Credentials,
    region: String,
    service: &'static str,
}

impl RequestSigner {
    /// Creates a signer with the credentials in the environment. The region is part of the URL's host, or is in
    /// `AWS_REGION` or `AWS_DEFAULT_REGION`.
    ///
    /// # Errors
    /// Returns an error with a remedy if the credentials or the region are missing.
    pub(crate) fn of_environment(url: &Url, var: &Var) -> Result<Self> {
        let host = url.host_str().unwrap_or_default();
        let service = if host.contains("execute-api") { "execute-api" } else { "lambda" };
        let labels = host.split('.').skip_while(|label| !["lambda-url", service].contains(label));
        let region = labels.skip(1).map(str::to_owned).next();
        let region = region.or_else(|| var("AWS_REGION")).or_else(|| var("AWS_DEFAULT_REGION"));
        let region = region.context("set AWS_REGION to the region of the stack")?;
        let find_variable = |name| {
            var(name).with_context(|| {
                format!(
                    "{name} is not set: eval \"$(aws configure export-credentials --format env)\""
                )
            })
        };
        let credentials = Credentials::new(
            find_variable("AWS_ACCESS_KEY_ID")?,
            find_variable("AWS_SECRET_ACCESS_KEY")?,
            var("AWS_SESSION_TOKEN"),
            None,
            "environment",
        );
        Ok(Self { credentials, region, service })
    }

    /// Adds the headers of the signature, which covers host, path, query and body.
    ///
    /// # Errors
    /// Returns an error if the request cannot be signed.
    pub(crate) fn sign_request(&self, request: &mut Request, time: SystemTime) -> Result<()> {
        let mut settings = SigningSettings::default();
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        let identity = self.credentials.clone().into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.service)
            .time(time)
            .settings(settings)
            .build()?
            .into();
        let body = request.body().and_then(Body::as_bytes).unwrap_or_default();
        let signable = SignableRequest::new(
            request.method().as_str(),
            request.url().as_str(),
            std::iter::empty(),
            SignableBody::Bytes(body),
        )?;
        let (headers, _) = sign(signable, &params)?.into_parts().0.into_parts();
        for header in headers {
            let name = HeaderName::from_bytes(header.name().as_bytes())?;
            request.headers_mut().insert(name, HeaderValue::from_str(header.value())?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use djinn_aws::{LOCAL_ACCESS_KEY, SignedRequest, is_signed};
    use djinn_runtime::port::secret::Secret;
    use reqwest::Method;

    use super::*;

    const KEYS: [(&str, &str); 2] =
        [("AWS_ACCESS_KEY_ID", LOCAL_ACCESS_KEY), ("AWS_SECRET_ACCESS_KEY", "secret")];

    fn create_signer(url: &str, variables: &[(&str, &str)]) -> Result<RequestSigner> {
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let variables: Vec<_> = variables.collect();
        let var: Var = Box::new(move |name| {
            variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        });
        RequestSigner::of_environment(&Url::parse(url).unwrap(), &var)
    }

    #[test]
    fn a_signature_covers_host_path_and_body() {
        let url = "https://abc.lambda-url.eu-west-1.on.aws/runs?limit=3";
        let signer = create_signer(url, &KEYS).unwrap();
        let mut request = Request::new(Method::POST, Url::parse(url).unwrap());
        *request.body_mut() = Some("{}".into());
        signer.sign_request(&mut request, UNIX_EPOCH + Duration::from_hours(9)).unwrap();
        let mut headers: Vec<_> = request
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        headers.push(("host", "abc.lambda-url.eu-west-1.on.aws"));
        let is_valid = |path, body| {
            let request = SignedRequest { method: "POST", path, headers: &headers, body };
            is_signed(request, &Secret::new("secret"))
        };
        assert!(is_valid("/runs?limit=3", b"{}"));
        assert!(!is_valid("/runs?limit=4", b"{}"));
        assert!(!is_valid("/runs?limit=3", b"[]"));
        let authorization = request.headers()["authorization"].to_str().unwrap();
        assert!(authorization.contains("/eu-west-1/lambda/aws4_request"), "{authorization}");
    }

    #[test]
    fn service_and_region_come_from_the_host_or_the_environment() {
        let rest = "https://abc.execute-api.us-east-2.amazonaws.com/live";
        let signer = create_signer(rest, &KEYS).unwrap();
        assert_eq!((signer.service, signer.region.as_str()), ("execute-api", "us-east-2"));
        let in_region = [&KEYS[..], &[("AWS_DEFAULT_REGION", "eu-north-1")]].concat();
        let signer = create_signer("https://djinn.example.org", &in_region).unwrap();
        assert_eq!((signer.service, signer.region.as_str()), ("lambda", "eu-north-1"));
        for (variables, expected) in [
            (&KEYS[..], "set AWS_REGION"),
            (&[("AWS_REGION", "eu-north-1")], "AWS_ACCESS_KEY_ID is not set"),
        ] {
            let error = create_signer("https://djinn.example.org", variables).err().unwrap();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }
}
