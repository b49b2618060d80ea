//! Somebody who issues tokens: keys made for the test, and a server that publishes them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agent::Auth;
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RSA_PKCS1_SHA512, RsaKeyPair, RsaPublicKeyComponents,
};
use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use djinn_runtime::port::clock::{Clock as _, SystemClock};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{Parts, found};

/// What the issuer's tokens are for.
pub(crate) const AUDIENCE: &str = "djinn-test";

/// Publishes keys where issuers do, and counts how often it is asked for them.
pub(crate) struct Issuer {
    url: String,
    published: Arc<Mutex<Published>>,
    asked: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

/// What is answered to whoever asks for keys.
struct Published {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

/// A pair of keys.
pub(crate) struct SigningKey {
    id: String,
    pair: Pair,
}

enum Pair {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
}

impl Issuer {
    /// One who publishes these keys.
    pub(crate) async fn start(keys: &[&SigningKey]) -> Self {
        let published =
            Published { status: StatusCode::OK, headers: HeaderMap::new(), body: String::new() };
        let published = Arc::new(Mutex::new(published));
        let asked = Arc::new(AtomicUsize::new(0));
        let answer = {
            let (published, asked) = (Arc::clone(&published), Arc::clone(&asked));
            move || {
                asked.fetch_add(1, Ordering::SeqCst);
                let published = published.lock().unwrap();
                let answer = (published.status, published.headers.clone(), published.body.clone());
                async move { answer }
            }
        };
        let router = Router::new().route("/.well-known/jwks.json", get(answer));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let issuer = Self { url, published, asked, task };
        issuer.publish(&keys.iter().map(|key| key.jwk()).collect::<Vec<_>>());
        issuer
    }

    /// From now on these keys are published, and no others.
    pub(crate) fn publish(&self, keys: &[Value]) {
        self.answer(200, &json!({"keys": keys}).to_string());
    }

    /// From now on this is the answer.
    pub(crate) fn answer(&self, status: u16, body: &str) {
        let mut published = self.published.lock().unwrap();
        published.status = StatusCode::from_u16(status).unwrap();
        published.body = body.to_owned();
    }

    /// With this header, too.
    pub(crate) fn with_header(&self, name: &'static str, value: &str) {
        self.published.lock().unwrap().headers.insert(name, value.parse().unwrap());
    }

    /// How often the keys were asked for.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A deployment on AWS that lets in who has one of its tokens, and nobody else.
    pub(crate) fn lets_in(&self) -> impl FnOnce(&mut Parts) {
        let vars = vec![
            // Keys come over TLS anywhere else.
            ("DJINN_LOCAL", "1".to_owned()),
            ("DJINN_AUTH", "jwt".to_owned()),
            ("DJINN_JWT_ISSUER", self.url.clone()),
            ("DJINN_JWT_AUDIENCE", format!("other, {AUDIENCE}")),
        ];
        let settings = agent::Settings::from_vars(&|name| found(&vars, name)).unwrap();
        assert!(matches!(settings.auth, Auth::Jwt(_)));
        |parts| {
            parts.settings.local = false;
            parts.settings.auth = settings.auth;
        }
    }

    /// What a token of this user says, for five minutes from now on.
    pub(crate) fn claims(&self, tenant: &str, user: &str) -> Value {
        let now = SystemClock.now_ms() / 1000;
        json!({"iss": self.url, "aud": AUDIENCE, "sub": user, "tenant": tenant, "iat": now,
            "nbf": now, "exp": now + 300})
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl SigningKey {
    pub(crate) fn rsa(id: &str) -> Self {
        let pair = Pair::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).unwrap());
        Self { id: id.to_owned(), pair }
    }

    pub(crate) fn ec(id: &str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        Self { id: id.to_owned(), pair: Pair::Ec(pair) }
    }

    pub(crate) fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::Rsa(_) => "RS256",
            Pair::Ec(_) => "ES256",
        }
    }

    /// The header of a token that this key signs.
    pub(crate) fn header(&self) -> Value {
        json!({"typ": "JWT", "alg": self.algorithm(), "kid": self.id})
    }

    /// What is published of it.
    pub(crate) fn jwk(&self) -> Value {
        let mut jwk = json!({"kid": self.id, "use": "sig", "alg": self.algorithm()});
        let more = match &self.pair {
            Pair::Rsa(pair) => {
                let public = RsaPublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                json!({"kty": "RSA", "n": encoded(&public.n), "e": encoded(&public.e)})
            }
            Pair::Ec(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "x": encoded(x), "y": encoded(y)})
            }
        };
        jwk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        jwk
    }

    /// The bytes that are published of it, in the forms in which others take them for a secret.
    pub(crate) fn public_bytes(&self) -> Vec<Vec<u8>> {
        let raw = match &self.pair {
            Pair::Rsa(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Ec(pair) => pair.public_key().as_ref().to_vec(),
        };
        let jwk = self.jwk();
        let member = jwk.get("n").or(jwk.get("x")).unwrap().as_str().unwrap().to_owned();
        vec![raw, jwk.to_string().into_bytes(), member.into_bytes()]
    }

    /// A token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.signed(&self.header(), &claims.to_string())
    }

    /// A token with this header, whatever that says of how it is signed.
    pub(crate) fn signed(&self, header: &Value, claims: &str) -> String {
        let message = message(header, claims);
        let random = SystemRandom::new();
        let signature = match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let padding = match header["alg"].as_str() {
                    Some("RS512") => &RSA_PKCS1_SHA512,
                    _ => &RSA_PKCS1_SHA256,
                };
                pair.sign(padding, &random, message.as_bytes(), &mut signature).unwrap();
                signature
            }
            Pair::Ec(pair) => pair.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
        };
        format!("{message}.{}", encoded(&signature))
    }
}

/// A token that this secret has signed.
pub(crate) fn signed_with_secret(header: &Value, claims: &Value, secret: &[u8]) -> String {
    let message = message(header, &claims.to_string());
    let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
    format!("{message}.{}", encoded(hmac::sign(&secret, message.as_bytes()).as_ref()))
}

fn message(header: &Value, claims: &str) -> String {
    format!("{}.{}", encoded(header.to_string().as_bytes()), encoded(claims.as_bytes()))
}

pub(crate) fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
