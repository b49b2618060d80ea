//! A job for sending: the envelope, and its objects in the bucket.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::time::Duration;

use bytes::Bytes;
use djinn_core::file::ProductFile;
use djinn_core::id::sha256_hex;
use djinn_runtime::port::file_url::Folder;
use djinn_runtime::port::payload::{MAX_PAYLOAD, PackedBytes, StoreRequest};
use djinn_runtime::port::sandbox::wire::{
    EnvelopeContent, EnvelopeFile, FORMAT, FunctionReply, JobEnvelope, MAX_PACKED, StoreHost,
    StoredContent,
};
use djinn_runtime::port::sandbox::{JobContext, SandboxError, SandboxJob, SandboxWork};
use tokio::task::spawn_blocking;

use super::{store_unavailable, unavailable};
use crate::file::{IN_TRANSIT, WRITTEN, object_key};
use crate::store::AwsStore;

/// Lifetime of URLs: an invocation, and the wait for an environment.
const VALID_FOR: Duration = Duration::from_secs(5 * 60);
/// Maximum bytes read of all files of a job, as candidates for packing into the payload.
const MAX_READ: u64 = 16 * 1024 * 1024;
/// Usual compression ratio of a table; a file too large for the room at this ratio is not read.
const BEST_RATIO: u64 = 4;
/// Bytes of a payload besides work and files.
const MARGIN: usize = 32 * 1024;

/// A job ready for sending.
pub(super) struct Parcel {
    envelope: JobEnvelope,
    /// Temporary objects to delete after the job, the response included.
    in_transit: Vec<String>,
    answer_key: Option<String>,
}

/// The remaining limits during packing.
struct Packing<'a> {
    store: &'a AwsStore,
    folder: Folder,
    /// Packed bytes left in the payload.
    room: usize,
    /// Bytes left to read.
    reads: u64,
    in_transit: Vec<String>,
}

impl Parcel {
    /// Packs files into the payload as far as possible, and stores the rest in the bucket.
    pub(super) async fn pack_job(
        store: &AwsStore,
        context: &JobContext,
        job: SandboxJob,
    ) -> Result<Self, SandboxError> {
        let SandboxJob { work, files, state } = job;
        let words = serde_json::to_vec(&work).map_or(0, |json| json.len());
        let free = MAX_PAYLOAD.checked_sub(words + MARGIN);
        let free = free.ok_or_else(|| unavailable("the job is larger than a sandbox takes"))?;
        let mut packing = Packing {
            store,
            folder: Folder::from(&context.session),
            room: MAX_PACKED.min(free / 4 * 3),
            reads: MAX_READ,
            in_transit: Vec::new(),
        };
        let state = if state.is_empty() { None } else { Some(packing.pack_bytes(state).await?) };
        let mut envelope_files = Vec::with_capacity(files.len() + context.stored.len());
        for file in files {
            let content = packing.pack_bytes(file.content).await?;
            envelope_files.push(EnvelopeFile { name: file.name, content });
        }
        for file in &context.stored {
            let content = packing.pack_stored(file).await?;
            envelope_files.push(EnvelopeFile { name: file.name.clone(), content });
        }
        let answer = match work {
            // Such work can create files, possibly large.
            SandboxWork::Python { .. }
            | SandboxWork::Render { .. }
            | SandboxWork::Scale { .. }
            | SandboxWork::ReadTables { .. }
            | SandboxWork::Query { .. }
            | SandboxWork::ShowRows { .. } => Some(packing.prepare_answer().await?),
            SandboxWork::Look { .. }
            | SandboxWork::Extract { .. }
            | SandboxWork::Insights { .. } => None,
        };
        let (answer_key, put_answer) = answer.unzip();
        let urls = envelope_files.iter().map(|file| &file.content).chain(&state);
        let mut urls = urls.filter_map(|content| match content {
            EnvelopeContent::Stored(object) => Some(object.url.as_str()),
            EnvelopeContent::Packed(_) => None,
        });
        let host = match (urls.next(), &put_answer) {
            (Some(url), _) => Some(find_host(url).await?),
            // Without a host, the function's response is limited to the payload.
            (None, Some(request)) => find_host(&request.url).await.ok(),
            (None, None) => None,
        };
        let put_answer = put_answer.filter(|_| host.is_some());
        let envelope =
            JobEnvelope { v: FORMAT, work, files: envelope_files, state, store: host, put_answer };
        Ok(Self { envelope, in_transit: packing.in_transit, answer_key })
    }

    /// Serializes the payload of the invocation.
    pub(super) fn to_payload(&self) -> Result<Vec<u8>, SandboxError> {
        serde_json::to_vec(&self.envelope).map_err(|error| unavailable(&error.to_string()))
    }

    /// Reads the response from the bucket.
    pub(super) async fn read_answer(
        &mut self,
        store: &AwsStore,
    ) -> Result<FunctionReply, SandboxError> {
        let Some(key) = self.answer_key.take() else { return Ok(FunctionReply::Stored) };
        let json = store.get_object(&key, None).await;
        self.in_transit.push(key);
        let json = json.map_err(store_unavailable)?;
        let result = spawn_blocking(move || serde_json::from_slice(&json)).await;
        let result = result.map_err(|error| unavailable(&error.to_string()))?;
        result.map(FunctionReply::Answer).map_err(|error| unavailable(&error.to_string()))
    }

    /// Deletes the job's objects in the bucket. A remaining object is deleted with its session, or expires.
    pub(super) async fn clear_away(self, store: &AwsStore) {
        for key in self.in_transit {
            if let Err(error) = store.delete_object(&key).await {
                tracing::warn!(%error, "an object of a job is left");
            }
        }
    }
}

impl Packing<'_> {
    /// Packs bytes into the payload, or stores the bytes in the bucket during the job.
    async fn pack_bytes(&mut self, bytes: Vec<u8>) -> Result<EnvelopeContent, SandboxError> {
        let size = bytes.len() as u64;
        let (bytes, packed_bytes) = pack(bytes).await?;
        if let Some(content) = self.take_room(packed_bytes) {
            return Ok(content);
        }
        let key = self.new_key()?;
        let sha256 = sha256_hex(&bytes);
        let request = self.store.put_object(&key, Bytes::from(bytes), "application/octet-stream");
        request.await.map_err(store_unavailable)?;
        self.in_transit.push(key.clone());
        self.refer_to(&key, size, Some(sha256)).await
    }

    /// Packs a session file into the payload if small enough, else as a URL.
    async fn pack_stored(&mut self, file: &ProductFile) -> Result<EnvelopeContent, SandboxError> {
        let key = object_key(&self.folder, &file.object).map_err(store_unavailable)?;
        if file.size <= self.reads.min(self.room as u64 * BEST_RATIO) {
            self.reads -= file.size;
            let bytes = self.store.get_object(&key, None).await.map_err(store_unavailable)?;
            let (_, packed_bytes) = pack(bytes).await?;
            if let Some(content) = self.take_room(packed_bytes) {
                return Ok(content);
            }
        }
        let sha256 = file.object.strip_prefix(WRITTEN).map(str::to_owned);
        self.refer_to(&key, file.size, sha256).await
    }

    fn take_room(&mut self, packed_bytes: PackedBytes) -> Option<EnvelopeContent> {
        self.room = self.room.checked_sub(packed_bytes.len())?;
        Some(EnvelopeContent::Packed(packed_bytes))
    }

    async fn refer_to(
        &self,
        key: &str,
        size: u64,
        sha256: Option<String>,
    ) -> Result<EnvelopeContent, SandboxError> {
        let url = self.store.presign_read(key, VALID_FOR).await.map_err(store_unavailable)?;
        let key = sha256_hex(key.as_bytes());
        Ok(EnvelopeContent::Stored(StoredContent { url, size, key, sha256 }))
    }

    /// Returns the key and the presigned request for a response too large for the payload.
    async fn prepare_answer(&mut self) -> Result<(String, StoreRequest), SandboxError> {
        let key = self.new_key()?;
        let result = self.store.presign_write(&key, VALID_FOR).await;
        let (url, headers) = result.map_err(store_unavailable)?;
        Ok((key, StoreRequest { url, headers }))
    }

    /// Returns a unique key for a temporary object.
    fn new_key(&self) -> Result<String, SandboxError> {
        let chance = sha256_hex(&fastrand::u128(..).to_be_bytes());
        object_key(&self.folder, &format!("{IN_TRANSIT}{chance}")).map_err(store_unavailable)
    }
}

/// Compresses bytes on a blocking thread, because compression is slow. Returns the original and the packed
/// bytes.
async fn pack(bytes: Vec<u8>) -> Result<(Vec<u8>, PackedBytes), SandboxError> {
    let result =
        spawn_blocking(move || PackedBytes::pack(&bytes).map(|packed_bytes| (bytes, packed_bytes)));
    let result = result.await.map_err(|error| unavailable(&error.to_string()))?;
    result.map_err(|error| unavailable(&error.to_string()))
}

/// Returns a URL's host with its addresses, because the function has no DNS.
async fn find_host(url: &str) -> Result<StoreHost, SandboxError> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let usual = if scheme == "http" { 80 } else { 443 };
    let (name, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host.to_owned(), port.parse().unwrap_or(usual)),
        None => (authority.to_owned(), usual),
    };
    let looked_up = {
        let name = name.clone();
        spawn_blocking(move || (name.as_str(), port).to_socket_addrs()).await
    };
    let addresses: Vec<IpAddr> = match looked_up {
        // The endpoint in the function's network is IPv4 only.
        Ok(Ok(sockets)) => sockets.map(|socket| socket.ip()).filter(IpAddr::is_ipv4).collect(),
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    if addresses.is_empty() {
        Err(unavailable("the bucket's address could not be looked up"))
    } else {
        Ok(StoreHost { name, addresses })
    }
}
