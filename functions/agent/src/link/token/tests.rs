use proptest::prelude::*;

use super::*;

const NOW: i64 = 1_700_000_000_000;

fn keys(text: &str) -> LinkKeys {
    LinkKeys::read(text).unwrap()
}

fn key(letter: &str) -> String {
    letter.repeat(MIN_KEY)
}

fn grant() -> Grant {
    Grant {
        tenant: TenantId::new("acme").unwrap(),
        user: UserId::new("arn:aws:sts::123456789012:assumed-role/Analyst").unwrap(),
        run: RunId::new("run_0123456789abcdef0123456789abcdef").unwrap(),
        feedback: FeedbackId::new("s2.1.t3.c1").unwrap(),
        digest: "5e".repeat(DIGEST),
        expires_at_ms: NOW + 1,
    }
}

fn of_length(text: &str, length: usize) -> String {
    text.repeat(length)
}

#[test]
fn a_token_is_one_short_path_segment_and_counts_until_its_moment() {
    let keys = keys(&key("k"));
    let token = keys.sign(&grant()).unwrap();
    assert!(token.len() < 250, "{}", token.len());
    assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)), "{token}");
    assert_eq!(keys.verify(&token, NOW), Ok(grant()));
    assert_eq!(keys.verify(&token, NOW + 1), Err(BadLink::Expired));
    let longest = Grant {
        tenant: TenantId::new(of_length("t", 128)).unwrap(),
        user: UserId::new(of_length("u", 256)).unwrap(),
        feedback: FeedbackId::new(of_length("f", 128)).unwrap(),
        ..grant()
    };
    let token = keys.sign(&longest).unwrap();
    assert_eq!(keys.verify(&token, NOW), Ok(longest));
    for digest in ["", "5e", &"5E".repeat(DIGEST), &"g".repeat(64), &"0".repeat(66)] {
        let grant = Grant { digest: digest.to_owned(), ..grant() };
        assert_eq!(keys.sign(&grant), None, "{digest}");
    }
}

#[test]
fn the_first_key_signs_all_verify_and_none_but_those() {
    let (old, new) = (keys(&key("o")), keys(&key("n")));
    let both = keys(&format!("{}, {}\n", key("n"), key("o")));
    let (of_old, of_both) = (old.sign(&grant()).unwrap(), both.sign(&grant()).unwrap());
    assert_eq!(both.verify(&of_old, NOW), Ok(grant()));
    assert_eq!(new.verify(&of_both, NOW), Ok(grant()));
    for (keys, token) in [(&old, &of_both), (&new, &of_old)] {
        assert_eq!(keys.verify(token, NOW), Err(BadLink::NotOurs));
        let late = grant().expires_at_ms;
        assert_eq!(keys.verify(token, late), Err(BadLink::NotOurs), "nor is it called expired");
    }
}

#[test]
fn keys_that_are_short_or_many_are_refused_without_being_repeated() {
    let short = "0123456789abcdef";
    for text in ["", ",", short, &format!("{},{short}", key("k")), &format!("{},", key("k"))] {
        let problem = LinkKeys::read(text).unwrap_err();
        assert!(problem.contains(" bytes") && !problem.contains(short), "{problem}");
    }
    assert!(LinkKeys::read(&vec![key("k"); MAX_KEYS].join(",")).is_ok());
    assert!(LinkKeys::read(&vec![key("k"); MAX_KEYS + 1].join(",")).is_err());
    assert_eq!(format!("{:?}", keys(&key("k"))), "LinkKeys([***])");
}

#[test]
fn no_bit_of_a_token_may_be_another() {
    let keys = keys(&key("k"));
    let token = keys.sign(&grant()).unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let flipped = URL_SAFE_NO_PAD.encode(&bytes);
        assert_eq!(keys.verify(&flipped, NOW), Err(BadLink::NotOurs), "bit {bit}");
    }
    for end in 0..token.len() {
        assert_eq!(keys.verify(&token[..end], NOW), Err(BadLink::NotOurs), "{end} letters");
    }
    for more in ["A", "AA", "AAAA", "=", "==", " ", "\n", "%00", "é"] {
        let longer = format!("{token}{more}");
        assert_eq!(keys.verify(&longer, NOW), Err(BadLink::NotOurs), "{more:?} behind it");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn whatever_is_granted_is_read_back(
        tenant in "[A-Za-z0-9_:.-]{1,128}",
        user in "[!-\"$-~]{1,256}",
        feedback in "[A-Za-z0-9_:.-]{1,128}",
        run in "run_[0-9a-f]{32}",
        digest in "[0-9a-f]{64}",
        left_ms in 1..i64::from(u32::MAX),
    ) {
        let grant = Grant {
            tenant: TenantId::new(tenant).unwrap(),
            user: UserId::new(user).unwrap(),
            run: RunId::new(run).unwrap(),
            feedback: FeedbackId::new(feedback).unwrap(),
            digest,
            expires_at_ms: NOW + left_ms,
        };
        let keys = keys(&key("k"));
        let token = keys.sign(&grant).unwrap();
        prop_assert!(has_form(&token));
        prop_assert_eq!(keys.verify(&token, NOW), Ok(grant));
    }

    #[test]
    fn a_token_of_anybody_elses_making_is_none(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        text in "[A-Za-z0-9_-]{0,300}",
    ) {
        let keys = keys(&key("k"));
        let token = keys.sign(&grant()).unwrap();
        let mut letters = token.clone().into_bytes();
        for (place, letter) in places {
            let place = place.index(letters.len());
            letters[place] = letter;
        }
        let mutated = String::from_utf8_lossy(&letters).into_owned();
        if mutated != token {
            prop_assert_eq!(keys.verify(&mutated, NOW), Err(BadLink::NotOurs));
        }
        prop_assert_eq!(keys.verify(&text, NOW), Err(BadLink::NotOurs));
    }
}
