//! A record as stored: the exact bytes that its hash covers.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Record;
use super::round_start::RoundStart;
use crate::entry::Entry;
use crate::id::{WriteId, sha256_hex};
use crate::input::{Input, RunSpec};

/// The SHA-256 of a stored record, in hexadecimal digits. Covers the hash of the record before, and thus all
/// earlier records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordHash(String);

impl Default for RecordHash {
    /// Returns 64 zeros, in place of a hash before the first record.
    fn default() -> Self {
        Self("0".repeat(64))
    }
}

impl RecordHash {
    pub(super) fn is_default(&self) -> bool {
        self.0.bytes().all(|digit| digit == b'0')
    }
}

impl fmt::Display for RecordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A record as stored. The stores keep these texts byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordText {
    /// The format of the record.
    pub format: u16,
    /// The number of the record, from 0.
    pub number: u64,
    /// The id of the write.
    pub write: WriteId,
    /// The lease epoch of the driver that wrote the record.
    pub epoch: u64,
    /// The time of the write, Unix milliseconds.
    pub at_ms: i64,
    /// The hash of the record before; 64 zeros for the first record.
    pub previous: RecordHash,
    /// The hash of this record, as of the write: see [`Self::compute_hash`].
    pub hash: RecordHash,
    /// The inputs and entries, as JSON.
    pub body: String,
    /// For a child's first record: the part shared by its round, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_start: Option<String>,
}

/// The JSON of a record's body.
#[derive(Serialize)]
struct BodyOut<'a> {
    inputs: &'a [Input],
    entries: &'a [Entry],
}

/// The owned form of [`BodyOut`], for reading.
#[derive(Deserialize)]
struct BodyIn {
    inputs: Vec<Input>,
    entries: Vec<Entry>,
}

impl RecordText {
    /// Encodes a new record of the journal with this name, unique among all journals.
    ///
    /// # Errors
    /// Returns an error if the record cannot be written as JSON.
    pub fn encode(record: &Record, journal: &str) -> Result<Self, serde_json::Error> {
        let (inputs, round_start) = split_round_start(record)?;
        let body = serde_json::to_string(&BodyOut { inputs: &inputs, entries: &record.entries })?;
        let mut text = Self {
            format: record.format,
            number: record.number,
            write: record.write.clone(),
            epoch: record.epoch,
            at_ms: record.at_ms,
            previous: record.previous.clone(),
            hash: RecordHash::default(),
            body,
            round_start,
        };
        text.hash = text.compute_hash(journal);
        Ok(text)
    }

    /// Decodes the record, without a check of the hash.
    ///
    /// # Errors
    /// Returns an error if the texts are not the JSON of a record.
    pub fn decode(&self) -> Result<Record, serde_json::Error> {
        let BodyIn { mut inputs, entries } = serde_json::from_str(&self.body)?;
        if let (Some(json), Some(spec)) = (&self.round_start, run_spec_mut(&mut inputs)) {
            let round_start: RoundStart = serde_json::from_str(json)?;
            round_start.restore_into(spec);
        }
        Ok(Record {
            format: self.format,
            number: self.number,
            write: self.write.clone(),
            epoch: self.epoch,
            at_ms: self.at_ms,
            previous: self.previous.clone(),
            hash: Some(self.hash.clone()),
            inputs,
            entries,
        })
    }

    /// Computes the hash of these bytes, as a record of the journal with this name. The hash is SHA-256 of
    /// ten lines, each with a final line feed: `djinn record 1`, the journal, the previous hash, the format,
    /// the number, the write, the epoch, the time, and the SHA-256 of body and round start. The last line is
    /// empty without a round start.
    #[must_use]
    pub fn compute_hash(&self, journal: &str) -> RecordHash {
        let Self { format, number, write, epoch, at_ms, previous, .. } = self;
        let body = sha256_hex(self.body.as_bytes());
        let round_start = self.round_start.as_ref().map(|json| sha256_hex(json.as_bytes()));
        let round_start = round_start.unwrap_or_default();
        let lines = format!(
            "djinn record 1\n{journal}\n{previous}\n{format}\n{number}\n{write}\n{epoch}\n{at_ms}\n\
             {body}\n{round_start}\n"
        );
        RecordHash(sha256_hex(lines.as_bytes()))
    }

    /// Returns the size of the texts in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> usize {
        self.body.len() + self.round_start.as_ref().map_or(0, String::len)
    }
}

/// Splits the shared start of the round off the inputs of a child's first record.
fn split_round_start(
    record: &Record,
) -> Result<(Cow<'_, [Input]>, Option<String>), serde_json::Error> {
    let whole = Cow::Borrowed(record.inputs.as_slice());
    if record.question().is_none_or(|spec| spec.child.is_none()) {
        return Ok((whole, None));
    }
    let mut inputs = record.inputs.clone();
    match run_spec_mut(&mut inputs).and_then(RoundStart::take_from) {
        Some(round_start) => Ok((Cow::Owned(inputs), Some(serde_json::to_string(&round_start)?))),
        None => Ok((whole, None)),
    }
}

fn run_spec_mut(inputs: &mut [Input]) -> Option<&mut RunSpec> {
    let Some(Input::Started(spec)) = inputs.first_mut() else { return None };
    Some(spec)
}
