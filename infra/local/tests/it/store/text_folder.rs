//! Folders of texts: one on a disk and one in the bucket keep the same promises.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use djinn_aws::{Aws, BucketFolder, Settings};
use djinn_core::id::sha256_hex;
use djinn_core::language::Language;
use djinn_local::{ALARM_EVERY, BUCKET, Djinn, LocalDispatch, LocalWorld, Stores, StoresOptions};
use djinn_runtime::port::text_folder::{
    FolderText, ListedText, MANIFEST, TextFolder, write_manifest,
};
use djinn_tools::local_folder::LocalFolder;
use djinn_wiring::{Variables, build_world};
use futures::future::join_all;
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
        let root = home.path().join("config");
        fs::create_dir_all(&root).unwrap();
        let folder = Arc::new(LocalFolder::new(&root));
        Self { _home: home, root, bucket: None, folder }
    }

    fn in_bucket() -> Self {
        let home = tempfile::tempdir().unwrap();
        let dir = Some(home.path().to_owned());
        let stores = Stores::start(StoresOptions { dir, ..StoresOptions::default() }).unwrap();
        let root = home.path().join("objects").join(BUCKET).join("config");
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
        let texts = LocalFolder::new(&self.root).read_now().unwrap();
        let hashable = texts.into_iter().map(|FolderText { name, .. }| {
            // Bytes that are no text are listed as well.
            let bytes = fs::read(self.root.join(&name)).unwrap();
            ListedText { name, sha256: sha256_hex(&bytes) }
        });
        fs::write(self.root.join(MANIFEST), write_manifest(hashable.collect()).unwrap()).unwrap();
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
    aws.store().open_text_folder("config").unwrap()
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
        folder.write("djinn.toml", b"B");
        folder.write("agents/a.md", "价".as_bytes());
        folder.write("modes/en/c.md", b"C");
        folder.write("prompts/zh/react/system.md", b"");
        folder.write("agents/README.md", b"Not read.");
        let expected = [
            text("agents/a.md", "价"),
            text("djinn.toml", "B"),
            text("modes/en/c.md", "C"),
            text("prompts/zh/react/system.md", ""),
        ];
        assert_eq!(folder.read().await, expected);
        assert_eq!(folder.read().await, expected);
        folder.write("djinn.toml", b"B, again");
        folder.remove("modes/en/c.md");
        let expected = [
            text("agents/a.md", "价"),
            text("djinn.toml", "B, again"),
            text("prompts/zh/react/system.md", ""),
        ];
        assert_eq!(folder.read().await, expected);
    }
}

#[tokio::test]
async fn a_text_that_is_none_leaves_the_others_alone() {
    for folder in [TestFolder::on_disk(), TestFolder::in_bucket()] {
        folder.write("agents/a.md", b"A");
        folder.write("agents/b.md", b"\xff");
        let expected =
            [text("agents/a.md", "A"), ("agents/b.md".to_owned(), Err("is not UTF-8".to_owned()))];
        assert_eq!(folder.read().await, expected);
        folder.write("agents/b.md", b"B");
        assert_eq!(folder.read().await, [text("agents/a.md", "A"), text("agents/b.md", "B")]);
    }
}

#[tokio::test]
async fn a_folder_that_is_gone_is_a_sentence_with_its_path_until_it_is_back() {
    for folder in [TestFolder::on_disk(), TestFolder::in_bucket()] {
        folder.write("agents/a.md", b"A");
        folder.read().await;
        let elsewhere = folder.root.with_extension("away");
        fs::rename(&folder.root, &elsewhere).unwrap();
        let error = folder.folder.read_texts().await.unwrap_err().to_string();
        assert!(error.contains(&folder.folder.path()), "{error}");
        assert_eq!(folder.folder.read_texts().await.unwrap_err().to_string(), error);
        fs::rename(&elsewhere, &folder.root).unwrap();
        assert_eq!(folder.read().await, [text("agents/a.md", "A")]);
    }
}

#[tokio::test]
async fn the_bucket_is_asked_at_no_start_and_then_for_what_is_new() {
    let folder = TestFolder::in_bucket();
    assert!(folder.folder.read_at_start().is_none());
    for name in ["a", "b", "c"] {
        folder.write(&format!("agents/{name}.md"), name.as_bytes());
    }
    assert_eq!(folder.take_reads(), 0);
    folder.read().await;
    assert_eq!(folder.take_reads(), 4, "the manifest and its texts");
    folder.read().await;
    assert_eq!(folder.take_reads(), 1, "the manifest alone");
    folder.write("agents/b.md", b"B");
    // The same text under two names is read once.
    folder.write("agents/d.md", b"a");
    folder.read().await;
    assert_eq!(folder.take_reads(), 2, "the manifest and the text that changed");
}

#[tokio::test]
async fn a_text_that_its_manifest_does_not_name_is_asked_for_until_it_is_there() {
    let folder = TestFolder::in_bucket();
    folder.write("agents/a.md", b"A");
    folder.write("agents/b.md", b"B");
    fs::write(folder.root.join("agents/a.md"), "other").unwrap();
    fs::remove_file(folder.root.join("agents/b.md")).unwrap();
    let texts = folder.read().await;
    let problems: Vec<_> = texts.into_iter().map(|(_, text)| text.unwrap_err()).collect();
    assert_eq!(
        problems,
        [
            "is not the text that manifest.json names: publish the folder again",
            "is not there, though manifest.json names it: publish the folder again",
        ]
    );
    fs::write(folder.root.join("agents/a.md"), "A").unwrap();
    fs::write(folder.root.join("agents/b.md"), "x".repeat(70_000)).unwrap();
    let texts = folder.read().await;
    let too_long = "has more than 65536 bytes: make it shorter".to_owned();
    assert_eq!(texts, [text("agents/a.md", "A"), ("agents/b.md".to_owned(), Err(too_long))]);
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
    folder.write("agents/a.md", b"A");
    let mut settings = folder.aws().settings().clone();
    let (proxy, url) = Proxy::start(&settings.endpoints.s3.take().unwrap(), passes);
    settings.endpoints.s3 = Some(url);
    settings.timeouts.backoff = Duration::from_millis(2);
    let behind = open(&Aws::new(settings));
    assert_eq!(texts_of(&behind).await, [text("agents/a.md", "A")]);
    proxy.plan(fails);
    let error = behind.read_texts().await.unwrap_err().to_string();
    assert_eq!(error, "@config/manifest.json cannot be reached: it is tried again");
    proxy.plan(passes);
    assert_eq!(texts_of(&behind).await, [text("agents/a.md", "A")]);
    assert_eq!(proxy.seen().len(), 1, "the manifest alone");
}

/// A world over the test's folder.
fn world(test: &TestFolder) -> LocalWorld {
    match &test.bucket {
        Some((_, aws)) => world_over("@config", aws),
        // Nothing is stored.
        None => world_over(test.root.to_str().unwrap(), &Aws::new(Settings::new("t", "b"))),
    }
}

fn world_over(config: &str, aws: &Aws) -> LocalWorld {
    let config = config.to_owned();
    let variables: Variables =
        Arc::new(move |name| (name == "DJINN_CONFIG").then(|| config.clone()));
    let (dispatch, _) = LocalDispatch::new(ALARM_EVERY);
    build_world(&Djinn::new(), &variables, aws, dispatch.clone(), dispatch).unwrap()
}

/// Reads the folder of a world at a time in milliseconds, at most every five seconds. Returns true for a known
/// agent `oracle`, and the problems.
async fn update(world: &LocalWorld, now_ms: i64) -> (bool, Vec<String>) {
    let source = world.configuration.as_ref().unwrap();
    source.update(now_ms, Duration::from_secs(5)).await;
    let now = source.current();
    let mut names = now.agents.iter().map(|agent| agent.spec(Language::En).name);
    (names.any(|name| name == "oracle"), now.problems.to_vec())
}

fn agent(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Knows.\n---\nYou know.\n")
}

#[tokio::test]
async fn agents_of_a_folder_that_cannot_be_read_stay_as_they_were() {
    for test in [TestFolder::on_disk(), TestFolder::in_bucket()] {
        test.write("agents/oracle.md", agent("oracle").as_bytes());
        let world = world(&test);
        assert_eq!(update(&world, 0).await, (true, Vec::new()));
        fs::rename(&test.root, test.root.with_extension("away")).unwrap();
        let (is_known, problems) = update(&world, 5_000).await;
        assert!(is_known && problems.len() == 1, "{problems:?}");
        assert!(problems[0].contains(&test.folder.path()), "{problems:?}");
        fs::rename(test.root.with_extension("away"), &test.root).unwrap();
        assert_eq!(update(&world, 10_000).await, (true, Vec::new()));
    }
}

#[tokio::test]
async fn a_process_asks_for_the_manifest_every_five_seconds_whoever_asks() {
    let test = TestFolder::in_bucket();
    for (name, text) in [
        ("djinn.toml", "base_prompt = \"Be brief.\"\n".to_owned()),
        ("agents/oracle.md", agent("oracle")),
        ("modes/guide.md", agent("guide")),
        ("prompts/en/react/system.md", "You answer.\n".to_owned()),
    ] {
        test.write(name, text.as_bytes());
    }
    let world = world(&test);
    assert_eq!(test.take_reads(), 0, "nothing is read at the start");
    let ask_all = async |now_ms| {
        for answer in join_all((0..6).map(|_| update(&world, now_ms))).await {
            assert_eq!(answer, (true, Vec::new()));
        }
        test.take_reads()
    };
    assert_eq!(ask_all(0).await, 5, "the manifest and the files");
    for nth in 1..4 {
        assert_eq!(ask_all(nth * 5_000 - 1).await, 0);
        assert_eq!(ask_all(nth * 5_000).await, 1, "the manifest alone");
    }
    // A broken file stays as it was, which is told once it was read.
    test.write("agents/oracle.md", b"no front matter");
    let (is_known, problems) = update(&world, 20_000).await;
    assert!(is_known && problems[0].starts_with("@config/agents/oracle.md:1: "), "{problems:?}");
    test.write("agents/oracle.md", agent("sibyl").as_bytes());
    assert_eq!(update(&world, 25_000).await, (false, Vec::new()));
}

/// A folder of the bucket behind a proxy.
fn behind_proxy(test: &TestFolder) -> (Proxy, LocalWorld) {
    let mut settings = test.aws().settings().clone();
    let (proxy, url) = Proxy::start(&settings.endpoints.s3.take().unwrap(), |_| Treatment::Pass);
    settings.endpoints.s3 = Some(url);
    settings.timeouts.backoff = Duration::from_millis(2);
    (proxy, world_over("@config", &Aws::new(settings)))
}

#[tokio::test]
async fn a_bucket_that_is_down_or_hangs_leaves_what_was_read_and_is_named() {
    let test = TestFolder::in_bucket();
    test.write("djinn.toml", b"[limits]\nuser_runs_at_once = 3\n");
    test.write("agents/oracle.md", agent("oracle").as_bytes());
    let (proxy, world) = behind_proxy(&test);
    let is_ready = || world.configuration.as_ref().unwrap().is_ready();
    let unreachable = "@config/manifest.json cannot be reached: it is tried again".to_owned();
    // Never read: nothing is known, and nothing may run.
    proxy.plan(|_| Treatment::NotDone);
    assert_eq!(update(&world, 0).await, (false, vec![unreachable.clone()]));
    assert!(!is_ready());
    proxy.plan(|_| Treatment::Pass);
    assert_eq!(update(&world, 5_000).await, (true, Vec::new()));
    assert!(is_ready());
    for (nth, treatment) in
        (2..).zip([(|_| Treatment::NotDone) as fn(&Seen) -> Treatment, |_| Treatment::Hangs])
    {
        proxy.plan(treatment);
        assert_eq!(update(&world, nth * 5_000).await, (true, vec![unreachable.clone()]));
        assert!(is_ready());
    }
}

#[tokio::test]
async fn files_that_hang_are_read_by_the_next_read_and_the_others_count() {
    let test = TestFolder::in_bucket();
    test.write("djinn.toml", b"");
    test.write("agents/oracle.md", agent("oracle").as_bytes());
    let (proxy, world) = behind_proxy(&test);
    assert_eq!(update(&world, 0).await, (true, Vec::new()));
    test.write("agents/sibyl.md", agent("sibyl").as_bytes());
    // The manifest is the first request.
    proxy.plan(|seen| if seen.nth == 0 { Treatment::Pass } else { Treatment::Hangs });
    let unreachable = "@config/agents/sibyl.md:1: it cannot be reached: it is tried again";
    assert_eq!(update(&world, 5_000).await, (true, vec![unreachable.to_owned()]));
    proxy.plan(|_| Treatment::Pass);
    assert_eq!(update(&world, 10_000).await, (true, Vec::new()));
}

#[tokio::test]
async fn any_valid_folder_is_the_same_on_the_disk_and_in_the_bucket() {
    let test = TestFolder::in_bucket();
    let places = ["agents/", "agents/en/", "modes/zh/", "prompts/en/react/", "prompts/zh/", ""];
    let mut seed = 7_u64;
    let mut next = |bound: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((seed >> 33) % bound).unwrap()
    };
    for _ in 0..20 {
        for _ in 0..next(12) {
            let place = places[next(6)];
            let name = if place.is_empty() {
                "djinn.toml".to_owned()
            } else {
                format!("{place}{}.md", ["a", "b-1", "C_d.v2", "z"][next(4)])
            };
            let text = ["", "x\r\ny", "价格 🧭\n", "---\nname: a\n---\n"][next(4)].repeat(next(9));
            test.write(&name, text.as_bytes());
        }
        let on_disk = texts_of(&LocalFolder::new(&test.root)).await;
        assert_eq!(test.read().await, on_disk);
        if let Some((name, _)) = on_disk.first().filter(|_| next(2) == 0) {
            test.remove(name);
        }
    }
}
