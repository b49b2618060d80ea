use djinn_core::id::{HumanRequestId, RunId, SessionId, UserId, sha256_hex};
use djinn_runtime::port::SessionKey;
use proptest::prelude::*;

use super::*;
use crate::link::token::{MIN_KEY, ResponseGrant};

const NOW: i64 = 1_700_000_000_000;

fn keys(letters: &str) -> LinkKeys {
    let keys: Vec<String> =
        letters.chars().map(|letter| letter.to_string().repeat(MIN_KEY)).collect();
    LinkKeys::parse(&keys.join(",")).unwrap()
}

fn grant() -> FileGrant {
    FileGrant {
        folder: folder("acme"),
        name: FileName::new("金价 报告.html").unwrap(),
        object: format!("files/{}", sha256_hex(b"gold")),
        expires_at_ms: NOW + 1_000,
    }
}

fn folder(tenant: &str) -> Folder {
    let owner = UserId::new("arn:aws:sts::123456789012:assumed-role/Analyst/anna").unwrap();
    let session = SessionId::new("session-1763600000000-12").unwrap();
    Folder::from(&SessionKey { tenant: TenantId::new(tenant).unwrap(), owner, session })
}

fn verify(keys: &LinkKeys, token: &str) -> Result<FileGrant, BadLink> {
    keys.verify_file(token, grant().name.as_str(), NOW)
}

#[test]
fn token_is_short_and_valid_until_its_expiry() {
    let keys = keys("k");
    let grant = FileGrant { folder: folder("default"), ..grant() };
    let token = keys.sign_file(&grant).unwrap();
    assert_eq!(token.len(), 130, "{token}");
    assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)), "{token}");
    assert_eq!(keys.sign_file(&grant), Some(token.clone()), "the same grant has the same token");
    let verify = |now_ms| keys.verify_file(&token, grant.name.as_str(), now_ms);
    assert_eq!(verify(NOW + 999), Ok(grant.clone()));
    assert_eq!(verify(NOW + 1_000), Err(BadLink::Expired));
    let precise = FileGrant { expires_at_ms: NOW + 1_999, ..grant.clone() };
    assert_eq!(
        keys.sign_file(&precise),
        Some(token.clone()),
        "a link lasts no longer than was said"
    );
}

#[test]
fn longest_names_fit_into_a_token() {
    let keys = keys("k");
    let longest = FileGrant {
        folder: folder(&"t".repeat(128)),
        name: FileName::new("\"".repeat(255)).unwrap(),
        object: format!("uploads/{}", "5e".repeat(32)),
        ..grant()
    };
    let token = keys.sign_file(&longest).unwrap();
    assert_eq!(token.len(), 284);
    assert_eq!(keys.verify_file(&token, longest.name.as_str(), NOW), Ok(longest));
}

#[test]
fn token_names_neither_owner_nor_session_nor_file() {
    let token = URL_SAFE_NO_PAD.decode(keys("k").sign_file(&grant()).unwrap()).unwrap();
    let text = String::from_utf8_lossy(&token);
    assert!(text.contains("acme"), "{text}");
    for name in ["anna", "session-1", "报告"] {
        assert!(!text.contains(name), "{text}");
    }
}

#[test]
fn expiry_out_of_range_is_cut_to_the_range() {
    let keys = keys("k");
    for (expires_at_ms, valid_until_ms) in
        [(i64::MAX, i64::from(u32::MAX) * 1_000), (-1, 0), (i64::MIN, 0), (999, 0)]
    {
        let grant = FileGrant { expires_at_ms, ..grant() };
        let token = keys.sign_file(&grant).unwrap();
        let verified = keys.verify_file(&token, grant.name.as_str(), i64::MIN).unwrap();
        assert_eq!(verified.expires_at_ms, valid_until_ms, "{expires_at_ms}");
    }
}

#[test]
fn object_of_another_form_has_no_token() {
    let hash = sha256_hex(b"gold");
    let wide = "é".repeat(32);
    for object in [
        String::new(),
        hash.clone(),
        "files/".to_owned(),
        format!("sandbox/{hash}"),
        format!("/files/{hash}"),
        format!("files/{hash}0"),
        format!("files/0{hash}"),
        format!("files/{}", &hash[1..]),
        format!("files/{}", hash.to_uppercase()),
        format!("files/+{}", &hash[1..]),
        format!("files/-{}", &hash[1..]),
        format!("files/ {}", &hash[1..]),
        format!("files/../{}", &hash[3..]),
        format!("files/{wide}"),
        format!("files/x{}", &wide[..62]),
    ] {
        let grant = FileGrant { object: object.clone(), ..grant() };
        assert_eq!(keys("k").sign_file(&grant), None, "{object}");
    }
}

#[test]
fn name_of_another_file_is_not_valid() {
    let keys = keys("k");
    let token = keys.sign_file(&grant()).unwrap();
    let name = grant().name;
    for other in ["", "other.md", ".", "..", "金价 报告.html ", "金价 报告.htm", "金价 报告.html\0"]
    {
        assert_eq!(keys.verify_file(&token, other, NOW), Err(BadLink::NotOurs), "{other:?}");
        let late = keys.verify_file(&token, other, grant().expires_at_ms);
        assert_eq!(late, Err(BadLink::NotOurs), "{other:?} is not called expired");
    }
    assert_eq!(keys.verify_file(&token, name.as_str(), NOW), Ok(grant()));
    // A Mac may spell the same name in another form of Unicode.
    let grant = FileGrant { name: FileName::new("Zürich.md").unwrap(), ..grant() };
    let token = keys.sign_file(&grant).unwrap();
    assert_eq!(keys.verify_file(&token, "Zu\u{308}rich.md", NOW), Ok(grant));
}

#[test]
fn no_letter_moves_between_tenant_and_name() {
    let keys = keys("k");
    let signed = FileGrant {
        folder: folder("a-tenant-of-24-letters-1"),
        name: FileName::new("23.md").unwrap(),
        ..grant()
    };
    let (_, tag) = split_token(&keys.sign_file(&signed).unwrap()).unwrap();
    for (tenant, name) in
        [("a-tenant-of-24-letters-12", "3.md"), ("a-tenant-of-24-letters-", "123.md")]
    {
        let moved =
            FileGrant { folder: folder(tenant), name: FileName::new(name).unwrap(), ..grant() };
        let token = URL_SAFE_NO_PAD.encode([moved.encode().unwrap(), tag.clone()].concat());
        assert_eq!(keys.verify_file(&token, name, NOW), Err(BadLink::NotOurs), "{tenant} {name}");
    }
    assert_eq!(keys.verify_file(&keys.sign_file(&signed).unwrap(), "23.md", NOW), Ok(signed));
}

#[test]
fn tokens_of_files_and_of_answers_do_not_pass_for_each_other() {
    let keys = keys("k");
    let answer = ResponseGrant {
        tenant: TenantId::new("acme").unwrap(),
        user: UserId::new("anna").unwrap(),
        run: RunId::new("run_0123456789abcdef0123456789abcdef").unwrap(),
        human_request: HumanRequestId::new("s2.1.t3.c1").unwrap(),
        digest: "5e".repeat(32),
        expires_at_ms: NOW + 1_000,
    };
    let answer = keys.sign_response(&answer).unwrap();
    let file = keys.sign_file(&grant()).unwrap();
    assert_eq!(verify(&keys, &answer), Err(BadLink::NotOurs));
    assert_eq!(keys.verify_response(&file, NOW), Err(BadLink::NotOurs));
    // Nor does the signature of a JWT pass for one of a file's payload, or one without the purpose.
    let payload = grant().encode().unwrap();
    let secret = "k".repeat(MIN_KEY);
    let jwt_key = jsonwebtoken::EncodingKey::from_secret(secret.as_bytes());
    for signed in [payload.clone(), [&Sha256::digest(grant().name.as_str())[..], &payload].concat()]
    {
        let signature =
            jsonwebtoken::crypto::sign(&signed, &jwt_key, jsonwebtoken::Algorithm::HS256);
        let signature = URL_SAFE_NO_PAD.decode(signature.unwrap()).unwrap();
        for tag in [&signature[..], &signature[..TAG]] {
            let token = URL_SAFE_NO_PAD.encode([&payload[..], tag].concat());
            assert_eq!(verify(&keys, &token), Err(BadLink::NotOurs));
        }
    }
}

#[test]
fn first_key_signs_and_all_keys_verify() {
    let of_old = keys("o").sign_file(&grant()).unwrap();
    let of_both = keys("no").sign_file(&grant()).unwrap();
    assert_eq!(verify(&keys("no"), &of_old), Ok(grant()));
    assert_eq!(verify(&keys("n"), &of_both), Ok(grant()));
    for (keys, token) in [(keys("o"), &of_both), (keys("n"), &of_old)] {
        assert_eq!(verify(&keys, token), Err(BadLink::NotOurs));
        let late = keys.verify_file(token, grant().name.as_str(), grant().expires_at_ms);
        assert_eq!(late, Err(BadLink::NotOurs), "nor is it called expired");
    }
}

#[test]
fn no_bit_of_a_token_may_be_another() {
    let keys = keys("k");
    let token = keys.sign_file(&grant()).unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let flipped = URL_SAFE_NO_PAD.encode(&bytes);
        assert_eq!(verify(&keys, &flipped), Err(BadLink::NotOurs), "bit {bit}");
    }
    for end in 0..token.len() {
        assert_eq!(verify(&keys, &token[..end]), Err(BadLink::NotOurs), "{end} letters");
    }
    for end in 0..bytes.len() {
        let cut = URL_SAFE_NO_PAD.encode(&bytes[..end]);
        assert_eq!(verify(&keys, &cut), Err(BadLink::NotOurs), "{end} bytes");
    }
    for at in 0..=bytes.len() {
        let padded = [&bytes[..at], &[0], &bytes[at..]].concat();
        let padded = URL_SAFE_NO_PAD.encode(padded);
        assert_eq!(verify(&keys, &padded), Err(BadLink::NotOurs), "a zero at {at}");
    }
    // Of the last letter only two bits count.
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (start, last) = token.split_at(token.len() - 1);
    for letter in alphabet.chars().filter(|letter| !last.contains(*letter)) {
        let other = format!("{start}{letter}");
        assert_eq!(verify(&keys, &other), Err(BadLink::NotOurs), "{letter} at the end");
    }
    for more in ["A", "AA", "AAAA", "=", "==", " ", "\n", "%00", "é", ".", ".A"] {
        for longer in [format!("{token}{more}"), format!("{more}{token}")] {
            assert_eq!(verify(&keys, &longer), Err(BadLink::NotOurs), "{more:?} around it");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_grant_is_read_back(
        tenant in "[A-Za-z0-9_:-][A-Za-z0-9_:.-]{0,127}",
        name in "[a-z\"界.]{3,60}|[\"界]{85}",
        kind in prop::sample::select(&KINDS[..]),
        digest in "[0-9a-f]{64}",
        expires_at_s in 1..=u32::MAX,
    ) {
        let grant = FileGrant {
            folder: folder(&tenant),
            name: FileName::new(name).unwrap(),
            object: format!("{kind}{digest}"),
            expires_at_ms: i64::from(expires_at_s) * 1_000,
        };
        let keys = keys("k");
        let token = keys.sign_file(&grant).unwrap();
        let name = grant.name.as_str();
        prop_assert!(is_file_token(&token, name) && token.len() > MAX_LABEL, "no label is as long");
        prop_assert_eq!(keys.verify_file(&token, name, 0), Ok(grant.clone()));
        prop_assert!(!crate::link::token::is_response_token(&token));
    }

    #[test]
    fn forged_tokens_are_not_ours(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        text in "[A-Za-z0-9_-]{0,300}",
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let keys = keys("k");
        let token = keys.sign_file(&grant()).unwrap();
        let mut letters = token.clone().into_bytes();
        for (place, letter) in places {
            let place = place.index(letters.len());
            letters[place] = letter;
        }
        let mutated = String::from_utf8_lossy(&letters).into_owned();
        if mutated != token {
            prop_assert_eq!(verify(&keys, &mutated), Err(BadLink::NotOurs));
        }
        prop_assert_eq!(verify(&keys, &text), Err(BadLink::NotOurs));
        prop_assert_eq!(verify(&keys, &URL_SAFE_NO_PAD.encode(bytes)), Err(BadLink::NotOurs));
    }
}
