//! Folders of texts: one on a disk and one in the bucket keep the same promises.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use djinn_aws::{Aws, BucketFolder};
use djinn_core::id::{TenantId, UserId, sha256_hex};
use djinn_core::settings::Machine;
use djinn_local::{BUCKET, Stores, StoresOptions};
use djinn_runtime::port::UserKey;
use djinn_runtime::port::text_folder::{
    FolderText, ListedText, MANIFEST, NameDepth, TextFolder, write_manifest,
};
use djinn_runtime::port::tool::{ToolAudience, Toolbox};
use djinn_testkit::clock::ManualClock;
use djinn_tools::agent_source::AgentSource;
use djinn_tools::local_folder::{LocalFolder, LocalText};
use tempfile::TempDir;

use super::proxy::{Proxy, Seen, Treatment};

/// A folder whose files a test writes, and the bucket that it is in, if it is in one.
struct TestFolder {
    _home: TempDir,
    root: PathBuf,
    bucket: Option<(Stores, Aws)>,
    folder: Arc<dyn TextFolder>,
}

impl TestFolder {
    fn on_disk() -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("agents");
        fs::create_dir_all(&root).unwrap();
        let folder = Arc::new(LocalFolder::new(&root, NameDepth::Group));
        Self { _home: home, root, bucket: None, folder }
    }

    fn in_bucket() -> Self {
        let home = tempfile::tempdir().unwrap();
        let dir = Some(home.path().to_owned());
        let stores = Stores::start(StoresOptions { dir, ..StoresOptions::default() }).unwrap();
        let root = home.path().join("objects").join(BUCKET).join("config/agents");
        fs::create_dir_all(&root).unwrap();
        let aws = Aws::new(stores.settings().clone());
        let folder = Arc::new(open(&aws));
        let test = Self { _home: home, root, bucket: Some((stores, aws)), folder };
        test.publish();
        test
    }

    fn write(&self, name: &str, text: &[u8]) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self.publish();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.root.join(name)).unwrap();
        self.publish();
    }

    /// Lists what is there in the manifest; nothing is missing on a disk without one.
    fn publish(&self) {
        let mut files = Vec::new();
        for place in ["", "en/", "en/react/", "zh/", "zh/react/"] {
            let Ok(entries) = fs::read_dir(self.root.join(place)) else { continue };
            for path in entries.map(|entry| entry.unwrap().path()) {
                let name = format!("{place}{}", path.file_name().unwrap().to_str().unwrap());
                if name.ends_with(".md") {
                    let sha256 = sha256_hex(&fs::read(path).unwrap());
                    files.push(ListedText { name, sha256 });
                }
            }
        }
        fs::write(self.root.join(MANIFEST), write_manifest(files, NameDepth::Group).unwrap())
            .unwrap();
    }

    async fn read(&self) -> Vec<(String, Result<String, String>)> {
        texts_of(&*self.folder).await
    }

    /// The objects that were read since the last call.
    fn take_reads(&self) -> u64 {
        let (_, aws) = self.bucket.as_ref().unwrap();
        let counts = aws.request_counter().take_counts();
        assert!(counts.keys().all(|operation| operation == "GetObject"), "{counts:?}");
        counts.get("GetObject").copied().unwrap_or_default()
    }

    fn aws(&self) -> &Aws {
        &self.bucket.as_ref().unwrap().1
    }
}

fn open(aws: &Aws) -> BucketFolder {
    aws.store().open_text_folder("config/agents", NameDepth::Group).unwrap()
}

async fn texts_of(folder: &dyn TextFolder) -> Vec<(String, Result<String, String>)> {
    let texts = folder.read_texts().await.unwrap().into_iter();
    texts.map(|FolderText { name, text }| (name, text.map(|text| text.to_string()))).collect()
}

fn text(name: &str, text: &str) -> (String, Result<String, String>) {
    (name.to_owned(), Ok(text.to_owned()))
}

#[tokio::test]
async fn texts_are_read_as_they_are_now() {
    for folder in [TestFolder::on_disk(), TestFolder::in_bucket()] {
        assert_eq!(folder.read().await, []);
        folder.write("b.md", b"B");
        folder.write("a.md", "价".as_bytes());
        folder.write("en/c.md", b"C");
        folder.write("zh/c.md", b"");
        let expected =
            [text("a.md", "价"), text("b.md", "B"), text("en/c.md", "C"), text("zh/c.md", "")];
        assert_eq!(folder.read().await, expected);
        assert_eq!(folder.read().await, expected);
        folder.write("b.md", b"B, again");
        folder.remove("en/c.md");
        let expected = [text("a.md", "价"), text("b.md", "B, again"), text("zh/c.md", "")];
        assert_eq!(folder.read().await, expected);
    }
}

#[tokio::test]
async fn prompts_lie_in_a_folder_below_their_language() {
    for folder in [TestFolder::on_disk(), TestFolder::in_bucket()] {
        folder.write("en/react/system.md", b"S");
        folder.write("zh/react/system.md", "价".as_bytes());
        folder.write("a.md", b"A");
        let all =
            [text("a.md", "A"), text("en/react/system.md", "S"), text("zh/react/system.md", "价")];
        assert_eq!(folder.read().await, all);
        folder.remove("a.md");
        assert_eq!(folder.read().await, all[1..]);
    }
}

#[tokio::test]
async fn one_text_of_the_bucket_is_read_where_it_is_new() {
    let folder = TestFolder::in_bucket();
    let one = folder.aws().store().open_text("config/agents/models.json").unwrap();
    let file = folder.root.join("models.json");
    let name = "models.json";
    assert!(one.read_at_start().is_none());
    let missing = (name.to_owned(), Err("is not there".to_owned()));
    assert_eq!(texts_of(&one).await, [missing]);
    fs::write(&file, "{}").unwrap();
    assert_eq!(texts_of(&one).await, [text(name, "{}")]);
    folder.take_reads();
    assert_eq!(texts_of(&one).await, [text(name, "{}")]);
    assert_eq!(folder.take_reads(), 1);
    fs::write(&file, b"\xff").unwrap();
    for _ in 0..2 {
        assert_eq!(texts_of(&one).await, [(name.to_owned(), Err("is not UTF-8".to_owned()))]);
    }
    fs::write(&file, "x".repeat(70_000)).unwrap();
    let too_long = "has more than 65536 bytes: make it shorter".to_owned();
    assert_eq!(texts_of(&one).await, [(name.to_owned(), Err(too_long))]);
}

#[tokio::test]
async fn one_text_on_the_disk_is_read_as_it_is_now() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("models.json");
    let one = LocalText::new(&file);
    assert_eq!(texts_of(&one).await, [("models.json".to_owned(), Err("is not there".to_owned()))]);
    fs::write(&file, "{}").unwrap();
    assert_eq!(texts_of(&one).await, [text("models.json", "{}")]);
    let found = one.read_at_start().unwrap().unwrap();
    assert_eq!(found[0].path_in(&one.path()), file.display().to_string());
}

#[tokio::test]
async fn a_text_that_is_none_leaves_the_others_alone() {
    for folder in [TestFolder::on_disk(), TestFolder::in_bucket()] {
        folder.write("a.md", b"A");
        folder.write("b.md", b"\xff");
        let expected = [text("a.md", "A"), ("b.md".to_owned(), Err("is not UTF-8".to_owned()))];
        assert_eq!(folder.read().await, expected);
        folder.write("b.md", b"B");
        assert_eq!(folder.read().await, [text("a.md", "A"), text("b.md", "B")]);
    }
}

#[tokio::test]
async fn a_folder_that_is_gone_is_a_sentence_with_its_path_until_it_is_back() {
    for folder in [TestFolder::on_disk(), TestFolder::in_bucket()] {
        folder.write("a.md", b"A");
        let elsewhere = folder.root.with_extension("away");
        fs::rename(&folder.root, &elsewhere).unwrap();
        let error = folder.folder.read_texts().await.unwrap_err().to_string();
        assert!(error.contains(&folder.folder.path()), "{error}");
        assert_eq!(folder.folder.read_texts().await.unwrap_err().to_string(), error);
        fs::rename(&elsewhere, &folder.root).unwrap();
        assert_eq!(folder.read().await, [text("a.md", "A")]);
    }
}

#[tokio::test]
async fn the_bucket_is_asked_at_no_start_and_then_for_what_is_new() {
    let folder = TestFolder::in_bucket();
    assert!(folder.folder.read_at_start().is_none());
    for name in ["a", "b", "c"] {
        folder.write(&format!("{name}.md"), name.as_bytes());
    }
    assert_eq!(folder.take_reads(), 0);
    folder.read().await;
    assert_eq!(folder.take_reads(), 4, "the manifest and its texts");
    folder.read().await;
    assert_eq!(folder.take_reads(), 1, "the manifest alone");
    folder.write("b.md", b"B");
    // The same text under two names is read once.
    folder.write("d.md", b"a");
    folder.read().await;
    assert_eq!(folder.take_reads(), 2, "the manifest and the text that changed");
}

#[tokio::test]
async fn a_text_that_its_manifest_does_not_name_is_asked_for_until_it_is_there() {
    let folder = TestFolder::in_bucket();
    folder.write("a.md", b"A");
    folder.write("b.md", b"B");
    fs::write(folder.root.join("a.md"), "other").unwrap();
    fs::remove_file(folder.root.join("b.md")).unwrap();
    let texts = folder.read().await;
    let problems: Vec<_> = texts.into_iter().map(|(_, text)| text.unwrap_err()).collect();
    assert_eq!(
        problems,
        [
            "is not the text that manifest.json names: publish the folder again",
            "is not there, though manifest.json names it: publish the folder again",
        ]
    );
    fs::write(folder.root.join("a.md"), "A").unwrap();
    fs::write(folder.root.join("b.md"), "x".repeat(70_000)).unwrap();
    let texts = folder.read().await;
    let too_long = "has more than 65536 bytes: make it shorter".to_owned();
    assert_eq!(texts, [text("a.md", "A"), ("b.md".to_owned(), Err(too_long))]);
}

#[tokio::test]
async fn a_bucket_that_fails_is_asked_again_and_what_was_read_is_not() {
    fn fails(_: &Seen) -> Treatment {
        Treatment::NotDone
    }
    fn passes(_: &Seen) -> Treatment {
        Treatment::Pass
    }
    let folder = TestFolder::in_bucket();
    folder.write("a.md", b"A");
    let mut settings = folder.aws().settings().clone();
    let (proxy, url) = Proxy::start(&settings.endpoints.s3.take().unwrap(), passes);
    settings.endpoints.s3 = Some(url);
    settings.timeouts.backoff = Duration::from_millis(2);
    let behind = open(&Aws::new(settings));
    assert_eq!(texts_of(&behind).await, [text("a.md", "A")]);
    proxy.plan(fails);
    let error = behind.read_texts().await.unwrap_err().to_string();
    assert_eq!(error, "@config/agents/manifest.json cannot be reached: it is tried again");
    proxy.plan(passes);
    assert_eq!(texts_of(&behind).await, [text("a.md", "A")]);
    assert_eq!(proxy.seen().len(), 1, "the manifest alone");
}

#[tokio::test]
async fn agents_of_a_folder_that_cannot_be_read_stay_as_they_were() {
    for test in [TestFolder::on_disk(), TestFolder::in_bucket()] {
        test.write("oracle.md", b"---\nname: oracle\ndescription: Knows.\n---\nYou know.\n");
        let folders = vec![Arc::clone(&test.folder)];
        let source = AgentSource::open(
            folders,
            ["cite", "collect", "file_tool", "look", "python", "render", "search_round"]
                .map(str::to_owned)
                .into(),
        )
        .unwrap();
        let (clock, tools) = (ManualClock::new(), Toolbox::default().with_source(Arc::new(source)));
        let anna = audience("anna", Machine::React);
        if test.bucket.is_some() {
            tools.list_tools(&clock, &anna).await;
        }
        fs::rename(&test.root, test.root.with_extension("away")).unwrap();
        clock.advance(Duration::from_secs(5));
        let problems = tools.list_problems(&clock, &anna).await;
        assert!(problems.len() == 1 && problems[0].contains(&test.folder.path()), "{problems:?}");
        let listed = tools.list_tools(&clock, &anna).await;
        assert!(listed.find_tool("oracle").is_some() && listed.is_complete());
        assert!(listed.find_tool("researcher").is_some());
    }
}

fn audience(user: &str, machine: Machine) -> ToolAudience {
    let user = UserKey { tenant: TenantId::new("t").unwrap(), user: UserId::new(user).unwrap() };
    ToolAudience { user, mode: machine.into(), output_style: None }
}

#[tokio::test]
async fn a_process_asks_for_the_manifest_every_five_seconds_whoever_asks() {
    let test = TestFolder::in_bucket();
    let agent = |name: &str| format!("---\nname: {name}\ndescription: Knows.\n---\nYou know.\n");
    test.write("oracle.md", agent("oracle").as_bytes());
    let source = AgentSource::open(
        vec![Arc::clone(&test.folder)],
        ["cite", "collect", "file_tool", "look", "python", "render", "search_round"]
            .map(str::to_owned)
            .into(),
    )
    .unwrap();
    let (clock, tools) = (ManualClock::new(), Toolbox::default().with_source(Arc::new(source)));
    assert_eq!(test.take_reads(), 0, "nothing is read at the start");
    let ask_all = async || {
        for user in ["anna", "ben", "carl"] {
            for mode in [Machine::React, Machine::PlanSolve] {
                let audience = audience(user, mode);
                assert_eq!(tools.list_problems(&clock, &audience).await, [""; 0]);
                let listed = tools.list_tools(&clock, &audience).await;
                assert!(listed.find_tool("oracle").is_some() && listed.is_complete());
            }
        }
        test.take_reads()
    };
    assert_eq!(ask_all().await, 2, "the manifest and the file");
    for _ in 0..3 {
        clock.advance(Duration::from_millis(4_999));
        assert_eq!(ask_all().await, 0);
        clock.advance(Duration::from_millis(1));
        assert_eq!(ask_all().await, 1, "the manifest alone");
    }
    // A broken file stays as it was, which is told once it was read.
    test.write("oracle.md", b"no front matter");
    clock.advance(Duration::from_secs(5));
    let problems = tools.list_problems(&clock, &audience("anna", Machine::React)).await;
    assert!(problems[0].starts_with("@config/agents/oracle.md:1: "), "{problems:?}");
    let listed = tools.list_tools(&clock, &audience("anna", Machine::React)).await;
    assert!(listed.find_tool("oracle").is_some());
    test.write("oracle.md", agent("sibyl").as_bytes());
    clock.advance(Duration::from_secs(5));
    let listed = tools.list_tools(&clock, &audience("anna", Machine::React)).await;
    assert!(listed.find_tool("oracle").is_none() && listed.find_tool("sibyl").is_some());
    assert_eq!(tools.list_problems(&clock, &audience("anna", Machine::React)).await, [""; 0]);
}
