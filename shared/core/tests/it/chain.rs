//! The chain of a journal's hashes. `golden/v1-chain.jsonl` is a stored journal of format 1, byte by byte.

use djinn_core::journal::{
    ChainError, ChainHead, ChainVerifier, FORMAT, Journal, Record, RecordText,
};

const V1_CHAIN: &str = include_str!("golden/v1-chain.jsonl");

/// The hash of the last record of `golden/v1-chain.jsonl`.
const V1_HEAD: &str = "cd2168a1f47dfd11e8abe55bdff5216ec1a64cc62b320e8a131e3c92261e70ab";

/// The first record of a child, with the round's start apart.
const V1_CHILD: &str = include_str!("golden/v1-chain-child.json");

const NAME: &str = "acme/run_00000000000000000000000000000001";

fn stored() -> Vec<RecordText> {
    V1_CHAIN.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn verify(texts: &[RecordText], noted: Option<ChainHead>) -> Result<ChainHead, ChainError> {
    let mut verifier = ChainVerifier::new(NAME.to_owned(), noted);
    texts.iter().try_for_each(|text| verifier.add_record(text))?;
    verifier.finish()
}

fn head() -> ChainHead {
    verify(&stored(), None).unwrap()
}

/// Gives a text the hash of its own bytes, as an editor of one record might.
fn rehashed(text: &RecordText) -> RecordText {
    RecordText { hash: text.compute_hash(NAME), ..text.clone() }
}

#[test]
fn stored_journal_keeps_its_hashes() {
    let texts = stored();
    assert!(texts.iter().all(|text| text.format == 1));
    assert_eq!((head().records, head().hash.to_string().as_str()), (texts.len() as u64, V1_HEAD));
    assert_eq!(verify(&texts, Some(head())), Ok(head()));
    let records: Vec<Record> = texts.iter().map(|text| text.decode().unwrap()).collect();
    assert!(Journal::fold(&records).unwrap().run().status().has_ended());
}

#[test]
fn stored_start_of_a_child_keeps_its_hash() {
    let text: RecordText = serde_json::from_str(V1_CHILD).unwrap();
    assert_eq!(text.compute_hash(NAME), text.hash);
    let round_start = text.round_start.as_ref().unwrap();
    let changed = round_start.replacen("\"question\":\"", "\"question\":\"No: ", 1);
    let changed = RecordText { round_start: Some(changed), ..text.clone() };
    let record = text.decode().unwrap();
    assert_ne!(changed.decode().unwrap(), record);
    let mut verifier = ChainVerifier::new(NAME.to_owned(), None);
    assert_eq!(verifier.add_record(&changed), Err(ChainError::Changed(0)));
    assert_eq!(RecordText::encode(&record, NAME).unwrap(), text);
}

#[test]
fn new_records_are_linked_by_their_journal() {
    assert_eq!(FORMAT, 1, "a new format needs a golden chain of its own");
    let records: Vec<Record> = stored().iter().map(|text| text.decode().unwrap()).collect();
    let mut journal = Journal::fold(&records[..1]).unwrap();
    let mut texts = vec![stored().remove(0)];
    for record in &records[1..] {
        let Record { inputs, epoch, write, at_ms, .. } = record.clone();
        let (next, record) = journal.decide_record(inputs, epoch, write, at_ms).unwrap();
        let text = RecordText::encode(&record, NAME).unwrap();
        journal = next;
        journal.set_head(text.hash.clone());
        texts.push(text);
    }
    assert_eq!(verify(&texts, None).unwrap().records, records.len() as u64);
}

#[test]
fn edited_record_is_named() {
    for nth in 0..stored().len() {
        let changes: [fn(&mut RecordText); 7] = [
            |text| text.body = text.body.replacen("\"inputs\"", " \"inputs\"", 1),
            |text| text.round_start = Some("{}".to_owned()),
            |text| text.format = 0,
            |text| text.epoch += 1,
            |text| text.at_ms += 1,
            |text| text.write = djinn_core::id::WriteId::new("other").unwrap(),
            |text| text.previous = head().hash,
        ];
        for change in changes {
            let mut texts = stored();
            change(&mut texts[nth]);
            let error = verify(&texts, None).unwrap_err();
            assert_eq!(error, ChainError::Changed(nth as u64));
            assert_eq!(error.to_string(), format!("record {nth} was changed"));
        }
    }
}

#[test]
fn edited_record_with_a_new_hash_is_found_by_the_next_record() {
    let last = stored().len() - 1;
    for nth in 0..=last {
        let mut texts = stored();
        texts[nth].at_ms += 1;
        texts[nth] = rehashed(&texts[nth]);
        let expected = if nth == last {
            ChainError::OtherHead(last as u64)
        } else {
            ChainError::Unlinked(nth as u64 + 1)
        };
        assert_eq!(verify(&texts, Some(head())), Err(expected));
    }
}

#[test]
fn dropped_record_is_named() {
    for nth in 0..stored().len() - 1 {
        let mut texts = stored();
        texts.remove(nth);
        let error = verify(&texts, None).unwrap_err();
        assert_eq!(error, ChainError::Missing(nth as u64));
        assert_eq!(error.to_string(), format!("record {nth} is missing"));
    }
    assert_eq!(verify(&[], None), Err(ChainError::Missing(0)));
}

#[test]
fn swapped_records_are_named() {
    let mut texts = stored();
    texts.swap(1, 2);
    assert_eq!(verify(&texts, None), Err(ChainError::Missing(1)));
    // The contents are swapped, and the numbers fit.
    (texts[1].number, texts[2].number) = (1, 2);
    assert_eq!(verify(&texts, None), Err(ChainError::Changed(1)));
    (texts[1], texts[2]) = (rehashed(&texts[1]), rehashed(&texts[2]));
    let error = verify(&texts, None).unwrap_err();
    assert_eq!(error, ChainError::Unlinked(1));
    assert_eq!(error.to_string(), "record 1 was not written after the record before it");
}

#[test]
fn truncated_records_are_named_by_the_noted_head() {
    let count = stored().len();
    for kept in 0..count {
        let texts = &stored()[..kept];
        let error = verify(texts, Some(head())).unwrap_err();
        assert_eq!(error, ChainError::Truncated(kept as u64, count as u64 - 1));
        let words = match count - kept {
            1 => format!("record {kept} is missing"),
            _ => format!("records {kept} to {} are missing", count - 1),
        };
        assert_eq!(error.to_string(), words);
        // Before its first sleep, a run has no head apart from its records.
        assert_eq!(verify(texts, None).is_ok(), kept > 0);
    }
    // Records may follow the noted head.
    let earlier = verify(&stored()[..count - 1], None).unwrap();
    assert_eq!(verify(&stored(), Some(earlier)), Ok(head()));
}

#[test]
fn records_of_another_journal_are_named() {
    let mut verifier = ChainVerifier::new("acme/other".to_owned(), None);
    assert_eq!(verifier.add_record(&stored()[0]), Err(ChainError::Changed(0)));
}
