//! Scales users' images for models, in the sandbox. No image is decoded here. Without the sandbox, only a
//! small image is shown, if its outline is complete and plain.

mod small_image;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use djinn_core::file::{AttachedImage, ProductFile, image_type_of};
use djinn_core::id::{FileName, sha256_hex};
use futures::future::{Either, join_all, select};
use futures::pin_mut;

use crate::port::SessionKey;
use crate::port::clock::Clock;
use crate::port::file::{Files as _, NewFile};
use crate::port::model::RequestImage;
use crate::port::sandbox::{
    JobContext, JobEnd, JobWait, SandboxAnswer, SandboxError, SandboxFile, SandboxJob, SandboxWork,
    ScaleValue,
};
use crate::world::Ports;

/// The maximum edge of an image for a model, in pixels: above this, providers reject requests with many
/// images.
const MAX_EDGE: u32 = 2_000;

/// The maximum size of an image for a model, in bytes.
const MAX_SCALED_BYTES: u64 = 5_000_000;

/// The maximum size of a plain image that is shown without scaling, in bytes.
const MAX_SMALL_BYTES: u64 = 256 * 1024;

/// The time that a question waits for its images, unless the sandbox is being installed. The run has not
/// begun, so its client receives nothing meanwhile.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// An image attached to a question.
pub(crate) struct AttachedContent<'a> {
    /// The file of the image.
    pub(crate) file: &'a ProductFile,
    /// The content, if the request had it; otherwise the content is read from the store.
    pub(crate) bytes: Option<&'a Vec<u8>>,
}

/// Returns the images as models see them, in their order. Small images, and all images without a sandbox, are
/// shown unchanged. An image that the sandbox cannot prepare is not shown; the question continues without it.
pub(crate) async fn prepare_images<P: Ports>(
    ports: &P,
    session: &SessionKey,
    images: Vec<AttachedContent<'_>>,
) -> Vec<AttachedImage> {
    let room = ports.sandbox().max_bytes();
    let are_small = join_all(images.iter().map(|image| is_small(ports, session, image))).await;
    let large_files: Vec<&ProductFile> = images
        .iter()
        .zip(are_small)
        .filter(|(image, is_small)| !is_small && image.file.size <= room)
        .map(|(image, _)| image.file)
        .collect();
    let batches = split_by_size(&large_files, room);
    let is_installing = Arc::new(AtomicBool::new(false));
    let scaling = join_all(batches.into_iter().map(|batch| {
        let batch = images.iter().filter(move |image| batch.contains(&&image.file.name));
        scale_batch(ports, session, batch.collect(), Arc::clone(&is_installing))
    }));
    let longest = ports.sandbox().call_timeout();
    let patience = wait_in_vain(ports.clock(), &is_installing, longest);
    pin_mut!(scaling, patience);
    let images_by_name: BTreeMap<FileName, AttachedImage> = match select(scaling, patience).await {
        Either::Left((batches, _)) => batches.into_iter().flatten().collect(),
        Either::Right(_) => {
            tracing::warn!("images not made ready in time");
            large_files.iter().map(|file| (file.name.clone(), AttachedImage::Unseen)).collect()
        }
    };
    let image = |image: &AttachedContent<'_>| {
        let scaled_image = images_by_name.get(&image.file.name).cloned();
        scaled_image.unwrap_or_else(|| show_as_is(image.file))
    };
    images.iter().map(image).collect()
}

/// Waits for the maximum time of a question's images, and `longest` more if the sandbox is then being
/// installed.
async fn wait_in_vain(clock: &impl Clock, is_installing: &AtomicBool, longest: Duration) {
    clock.sleep(MAX_WAIT).await;
    if is_installing.load(Ordering::Relaxed) {
        clock.sleep(longest).await;
    }
}

/// Returns true if an image is small enough to be shown without scaling.
async fn is_small<P: Ports>(ports: &P, session: &SessionKey, image: &AttachedContent<'_>) -> bool {
    if image.file.size > MAX_SMALL_BYTES || !RequestImage::can_show(image.file) {
        return false;
    }
    let content = read_image(ports, session, image).await.map(|file| file.content);
    content.is_some_and(|content| small_image::is_plain(&content, MAX_EDGE))
}

/// Splits the files into batches that fit into one job each; returns their names.
fn split_by_size<'a>(files: &[&'a ProductFile], room: u64) -> Vec<Vec<&'a FileName>> {
    let mut batches: Vec<Vec<&FileName>> = Vec::new();
    let mut free_bytes = 0;
    for file in files {
        match batches.last_mut() {
            Some(batch) if file.size <= free_bytes => batch.push(&file.name),
            Some(_) | None => {
                batches.push(vec![&file.name]);
                free_bytes = room;
            }
        }
        free_bytes = free_bytes.saturating_sub(file.size);
    }
    batches
}

fn show_as_is(file: &ProductFile) -> AttachedImage {
    if RequestImage::can_show(file) {
        AttachedImage::Shown(file.clone())
    } else {
        AttachedImage::Unseen
    }
}

/// Scales a batch of images in one job.
async fn scale_batch<P: Ports>(
    ports: &P,
    session: &SessionKey,
    images: Vec<&AttachedContent<'_>>,
    is_installing: Arc<AtomicBool>,
) -> BTreeMap<FileName, AttachedImage> {
    let files = images.iter().map(|image| read_image(ports, session, image));
    let files: Vec<SandboxFile> = join_all(files).await.into_iter().flatten().collect();
    let names: Vec<FileName> = files.iter().map(|file| file.name.clone()).collect();
    let work = SandboxWork::Scale { names, max_edge: MAX_EDGE, max_bytes: MAX_SCALED_BYTES };
    let job = SandboxJob { work, files, state: Vec::new() };
    let context = JobContext::new(session).with_wait_reporter(move |wait| {
        if matches!(wait, JobWait::Installation { .. }) {
            is_installing.store(true, Ordering::Relaxed);
        }
    });
    let answer = match ports.sandbox().run_job(&context, job).await {
        Ok(answer) if answer.end == JobEnd::Done => Some(answer),
        Ok(answer) => {
            tracing::warn!(end = ?answer.end, "images not made ready");
            None
        }
        Err(SandboxError::Disabled(_) | SandboxError::Unready(_)) => return BTreeMap::new(),
        Err(error @ (SandboxError::Unavailable(_) | SandboxError::Busy { .. })) => {
            tracing::warn!(%error, "images not made ready");
            None
        }
    };
    let Some(answer) = answer else {
        let unseen =
            |image: &&AttachedContent<'_>| (image.file.name.clone(), AttachedImage::Unseen);
        return images.iter().map(unseen).collect();
    };
    let loading = images.iter().map(|image| show_scaled(ports, session, image.file, &answer));
    let scaled_images =
        join_all(loading).await.into_iter().map(|image| image.unwrap_or(AttachedImage::Unseen));
    images.iter().map(|image| image.file.name.clone()).zip(scaled_images).collect()
}

/// Reads an image; `None` if unreadable.
async fn read_image<P: Ports>(
    ports: &P,
    session: &SessionKey,
    image: &AttachedContent<'_>,
) -> Option<SandboxFile> {
    let name = image.file.name.clone();
    if let Some(bytes) = image.bytes {
        return Some(SandboxFile { name, content: bytes.clone() });
    }
    match ports.store().read_file(session, image.file, image.file.size).await {
        Ok(content) => Some(SandboxFile { name, content }),
        Err(error) => {
            tracing::warn!(%error, "image not read");
            None
        }
    }
}

/// Returns the sandbox's version of an image; `None` if the image cannot be shown.
async fn show_scaled<P: Ports>(
    ports: &P,
    session: &SessionKey,
    file: &ProductFile,
    answer: &SandboxAnswer,
) -> Option<AttachedImage> {
    let value = answer.value.get(file.name.as_str())?;
    let value: ScaleValue = serde_json::from_value(value.clone()).ok()?;
    if !value.problem.is_empty() {
        return None;
    }
    if !value.parts.is_empty() {
        return keep_parts(ports, session, file, answer, &value.parts).await;
    }
    let Some(copy) = answer.products.iter().find(|product| product.name == file.name) else {
        return Some(show_as_is(file));
    };
    // The model sees the copy under the original's name.
    keep_copy(ports, session, copy, file.name.clone()).await.map(|copy| show_as_is(&copy))
}

/// Stores the parts of a long image; `None` if any part cannot be shown.
async fn keep_parts<P: Ports>(
    ports: &P,
    session: &SessionKey,
    file: &ProductFile,
    answer: &SandboxAnswer,
    parts: &[FileName],
) -> Option<AttachedImage> {
    let part_images = parts.iter().enumerate().map(async |(at, part)| {
        let copy = answer.products.iter().find(|product| product.name == *part)?;
        let name = FileName::new(format!("{} [{} of {}]", file.name, at + 1, parts.len()));
        let name = name.unwrap_or_else(|_| part.clone());
        keep_copy(ports, session, copy, name).await.filter(RequestImage::can_show)
    });
    join_all(part_images).await.into_iter().collect::<Option<_>>().map(AttachedImage::Parts)
}

/// Stores a scaled copy of an image, and returns the copy under `shown_name`.
async fn keep_copy<P: Ports>(
    ports: &P,
    session: &SessionKey,
    copy: &SandboxFile,
    shown_name: FileName,
) -> Option<ProductFile> {
    let media_type = image_type_of(&copy.content)?;
    let new = NewFile {
        name: copy_name(&copy.content, media_type)?,
        description: String::new(),
        internal: true,
        media_type: media_type.to_owned(),
        uploaded: false,
        // The name is derived from the content, for every asker.
        writer: session.owner.clone(),
    };
    match ports.store().write_file(session, &new, &copy.content).await {
        Ok(copy) => Some(ProductFile { name: shown_name, ..copy }),
        Err(error) => {
            tracing::warn!(%error, "a smaller copy of an image not kept");
            None
        }
    }
}

/// Returns a name derived from the content, which no user chose.
fn copy_name(content: &[u8], media_type: &str) -> Option<FileName> {
    let mut hash = sha256_hex(content);
    hash.truncate(16);
    let ending = media_type.strip_prefix("image/")?;
    FileName::new(format!("smaller-{hash}.{ending}")).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn file(name: &str, size: u64) -> ProductFile {
        ProductFile {
            name: FileName::new(name).unwrap(),
            description: String::new(),
            size,
            internal: false,
            media_type: "image/png".to_owned(),
            object: String::new(),
            has_rows: None,
            uploaded: false,
        }
    }

    #[test]
    fn images_are_sent_together_as_far_as_they_fit() {
        let files = [file("a", 4), file("b", 6), file("c", 1), file("d", 10), file("e", 10)];
        let files: Vec<&ProductFile> = files.iter().collect();
        let batches = split_by_size(&files, 10);
        let batches: Vec<String> = batches
            .iter()
            .map(|batch| batch.iter().map(|name| name.as_str()).collect::<Vec<_>>().concat())
            .collect();
        assert_eq!(batches, ["ab", "c", "d", "e"]);
        assert!(split_by_size(&[], 10).is_empty());
    }

    /// A clock that remembers for how many seconds it was waited for.
    #[derive(Default)]
    struct RecordingClock(Mutex<Vec<u64>>);

    impl Clock for RecordingClock {
        fn now_ms(&self) -> i64 {
            0
        }

        fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
            self.0.lock().unwrap().push(duration.as_secs());
            std::future::ready(())
        }

        fn jitter(&self) -> f64 {
            0.0
        }
    }

    #[tokio::test]
    async fn images_wait_longer_while_the_sandbox_is_installed() {
        for (is_installing, waits) in [(false, vec![20]), (true, vec![20, 630])] {
            let clock = RecordingClock::default();
            let longest = Duration::from_secs(630);
            wait_in_vain(&clock, &AtomicBool::new(is_installing), longest).await;
            assert_eq!(*clock.0.lock().unwrap(), waits);
        }
    }

    #[test]
    fn a_copy_is_named_by_its_content() {
        let name = copy_name(b"one", "image/jpeg").unwrap();
        assert!(name.as_str().starts_with("smaller-") && name.as_str().ends_with(".jpeg"));
        assert_ne!(Some(name), copy_name(b"two", "image/jpeg"));
        assert_eq!(copy_name(b"one", "text/plain"), None);
    }
}
