//! Denied phrases, in whole texts and in pieces.

use djinn_text::deny::{DenyFilter, DenyList, DenyListError, MAX_PHRASE, MAX_PHRASES};
use proptest::prelude::*;

fn list(phrases: &[&str]) -> DenyList {
    DenyList::new(phrases).unwrap()
}

#[test]
fn a_phrase_is_found_as_people_write_it_and_not_in_other_words() {
    for (phrase, found, not_found) in [
        (
            "ass",
            &["an ASS.", "Ass", "ass-", "(ass)", "不ass的"][..],
            &["class", "assign", "ass1", "a ss"][..],
        ),
        (
            "kill all",
            &[
                "Kill  All!",
                "kill\n all",
                "k\u{200b}ill all",
                "ｋｉｌｌ　ａｌｌ",
                "kill\u{200b}all",
                "k\u{fff9}ill\u{fff9}all",
                "kill\u{2800}all",
                "kíll \u{301}áll",
                "now\u{200b}kill all\u{200b}ow",
            ],
            &[
                "killall",
                "kill, all",
                "kill allow",
                "skill all",
                "s\u{ad}kill all",
                "kill all\u{ad}ow",
            ],
        ),
        ("bomb*", &["bombs", "BOMB", "a bombing"], &["abomb", "bom b"]),
        ("*bomb*", &["abombs"], &["bom"]),
        ("*ware", &["malware", "ware"], &["wares"]),
        (
            "炸弹",
            &["做炸弹的方法", "炸\u{200d}弹", "炸弹x", "炸 弹", "炸\u{3000}\u{fe0f} 弹"],
            &["炸", "弹炸"],
        ),
        ("炸 弹", &["炸弹"], &["炸"]),
        ("폭탄", &["폭탄을", "폭 탄"], &["폭"]),
        ("ဗုံး", &["ဗုံးလုပ်နည်း", "ဗုံ း"], &["ဗုံ"]),
        ("គ្រាប់បែក", &["ធ្វើគ្រាប់បែកយ៉ាងណា"], &["គ្រាប់"]),
        ("ระเบิด", &["ทำระเบิดอย่างไร"], &["ระเบิ"]),
        (
            "café",
            &["CAFE\u{301}", "café!", "cafe\u{316}\u{301}"],
            &["cafe", "cafés", "café\u{ad}s"],
        ),
        ("re", &["re:", "ré"], &["rés"]),
        (
            "bomb",
            &[
                "𝐛𝐨𝐦𝐛",
                "b\u{34f}o\u{1d173}m\u{e0041}b",
                "bo\u{ad}mb",
                "bom\u{301}b",
                "b\u{338}o\u{20dd}m\u{345}b\u{fe20}",
                "bo\u{941}m\u{e48}b",
                "bömb",
            ],
            &["bom\u{301}bs", "bo\u{301} mb"],
        ),
        // Where marks are letters, or parts of them, another mark is another word.
        ("बम", &["बम!", "ब\u{301}म", "ब\u{93c}म"], &["बाम", "बिम", "बम्", "बुम"]),
        ("ป่า", &["ป่า", "ป\u{e48}\u{200b}า"], &["ปา", "ป้า"]),
        // Thai tones and vowels in either order are seen alike.
        ("ดุ่ม", &["ด\u{e38}\u{e48}ม", "ด\u{e48}\u{e38}ม"], &["ดุม", "ด่ม"]),
        ("かき", &["かき", "か\u{301}き"], &["がき", "か\u{3099}き"]),
        ("がき", &["がき", "か\u{3099}き", "か\u{200b}\u{3099}き"], &["かき"]),
        ("قنبلة", &["قُنْبُلَة", "قـــنبلة", "قن\u{200d}بلة"], &["قنابل"]),
        ("פצצה", &["פְּצָצָה"], &["פצצות"]),
        ("bán dâm", &["bán dâm", "ba\u{301}n da\u{302}m", "bán dậm"], &["ban dam", "bàn dâm"]),
        ("C++", &["in c++17", "C++"], &["abc++", "c+"]),
        ("straße", &["STRAßE", "straße!", "STRASSE"], &["strase"]),
        ("aab", &["aaaab aab", "x aab"], &["aaab"]),
        ("a a b", &["a a a b"], &["a ab"]),
    ] {
        let denied = list(&[phrase]);
        for text in found {
            assert!(denied.is_match(text), "{phrase} in {text}");
        }
        for text in not_found {
            assert!(!denied.is_match(text), "{phrase} in {text}");
        }
    }
    assert!(!DenyList::default().is_match("anything"));
}

#[test]
fn a_list_has_bounds() {
    assert_eq!(DenyList::new(&["ok", " * "]), Err(DenyListError::Phrase(2)));
    assert_eq!(DenyList::new(&[""]), Err(DenyListError::Phrase(1)));
    assert_eq!(DenyList::new(&["x".repeat(MAX_PHRASE + 1)]), Err(DenyListError::Phrase(1)));
    assert!(DenyList::new(&["x".repeat(MAX_PHRASE)]).is_ok());
    assert_eq!(DenyList::new(&vec!["x"; MAX_PHRASES + 1]), Err(DenyListError::TooMany));
    assert!(DenyList::new(&vec!["x"; MAX_PHRASES]).is_ok());
}

#[test]
fn a_full_list_takes_time_in_proportion_to_the_text() {
    let phrases: Vec<String> =
        (0..MAX_PHRASES).map(|nth| format!("{}{nth:03}b", "a".repeat(90))).collect();
    let denied = DenyList::new(&phrases).unwrap();
    assert!(!denied.is_match(&"a".repeat(64 * 1024)));
    // A look from every place at every phrase compares 3 GB.
}

/// What passes a gate, piece by piece, and whether it was shut.
fn passed(denied: &DenyList, pieces: &[&str]) -> (String, bool) {
    let mut gate = DenyFilter::new(denied.clone());
    let mut shown: String = pieces.iter().map(|piece| gate.push(piece)).collect();
    shown.push_str(&gate.finish());
    (shown, gate.is_blocked())
}

#[test]
fn nothing_of_a_phrase_passes_however_it_is_cut() {
    let denied = list(&["make a bomb", "secret"]);
    let text = "I can make a cake, and make  A Bo\u{200b}mb. And more.";
    for cut in 0..=text.len() {
        if text.is_char_boundary(cut) {
            let pieces = [&text[..cut], &text[cut..]];
            assert!(
                "I can make a cake, and ".starts_with(&passed(&denied, &pieces).0),
                "{pieces:?}"
            );
            assert!(passed(&denied, &pieces).1);
        }
    }
    let letters: Vec<String> = text.chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    assert_eq!(passed(&denied, &letters), ("I can make a cake, and ".to_owned(), true));
    assert_eq!(passed(&denied, &["no secret", "s here"]), ("no secrets here".to_owned(), false));
    assert_eq!(passed(&denied, &["no secret"]), ("no ".to_owned(), true));
}

/// Characters that hide a phrase from a machine and not from a reader.
const HIDING: &str = "[\u{ad}\u{34f}\u{200b}-\u{200f}\u{2060}\u{feff}\u{fff9}-\u{fffb}\u{e0001}\u{301}\u{316}\u{327}\u{338}\u{345}\u{20dd}\u{5b8}\u{654}]";

proptest! {
    #[test]
    fn nothing_that_readers_overlook_hides_a_phrase(
        phrase in prop::sample::select(vec![
            "kill all", "café", "straße", "炸弹", "がき", "бои", "δυναμίτης", "बम", "ดุ่ม", "قنبلة", "ဗုံး",
            "C++", "bán dâm", "x", "폭탄",
        ]),
        hiding in proptest::collection::vec((any::<prop::sample::Index>(), HIDING), 1..8),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut letters: Vec<String> = phrase.chars().map(String::from).collect();
        for (at, hidden) in hiding {
            letters[at.index(phrase.chars().count())].push_str(&hidden);
        }
        let hidden = letters.concat();
        let denied = DenyList::new(&[phrase]).unwrap();
        prop_assert!(denied.is_match(&hidden), "{phrase} in {hidden:?}");
        let text = format!("So {hidden}, then");
        let mut at: Vec<usize> =
            cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        at.extend([0, text.len()]);
        at.sort_unstable();
        let pieces: Vec<&str> = at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        let (shown, is_blocked) = passed(&denied, &pieces);
        prop_assert!(is_blocked && "So ".starts_with(&shown), "{shown:?} of {hidden:?}");
    }

    #[test]
    fn an_allowed_text_passes_whole_and_a_denied_phrase_never_begins(
        words in proptest::collection::vec("ab|abab|ba|[ab \u{200b}\u{ad}\u{301}]|见|a b|á", 0..12),
        phrases in proptest::collection::vec("\\*?(ab|aba|ba b|见a|b b|áb|bá)\\*?", 1..4),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let denied = DenyList::new(&phrases).unwrap();
        let text = words.concat();
        let mut at: Vec<usize> =
            cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        at.extend([0, text.len()]);
        at.sort_unstable();
        let pieces: Vec<&str> = at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        let (shown, shut) = passed(&denied, &pieces);
        prop_assert_eq!(shut, denied.is_match(&text));
        if shut {
            let rest = text.strip_prefix(&shown).unwrap();
            prop_assert!(denied.is_match(rest), "{text} shows {shown}");
        } else {
            prop_assert_eq!(shown, text);
        }
    }
}
