use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// A folder with files laid out, and its parent with a canary beside it.
struct Place {
    parent: TempDir,
    folder: JobFolder,
}

impl Place {
    fn with(files: &[(&str, &str)]) -> Self {
        let parent = TempDir::new().unwrap();
        fs::write(parent.path().join("canary"), "secret").unwrap();
        let mut folder = JobFolder::create(parent.path()).unwrap();
        let files: Vec<_> = files
            .iter()
            .map(|(name, text)| SandboxFile {
                name: FileName::new(*name).unwrap(),
                content: text.as_bytes().to_vec(),
            })
            .collect();
        folder.lay_out(&files).unwrap();
        Self { parent, folder }
    }

    fn root(&self) -> PathBuf {
        let jobs = fs::read_dir(self.parent.path()).unwrap().flatten();
        let mut jobs = jobs.filter(|entry| entry.file_name() != "canary");
        jobs.next().unwrap().path()
    }

    fn work(&self) -> PathBuf {
        self.root().join("work")
    }
}

fn names(products: &Products) -> Vec<&str> {
    products.files.iter().map(|file| file.name.as_str()).collect()
}

#[test]
fn new_and_changed_files_are_products_and_given_ones_are_none() {
    let place = Place::with(&[("given.csv", "a"), ("changed.csv", "a")]);
    let work = place.work();
    fs::write(work.join("changed.csv"), "b").unwrap();
    fs::create_dir_all(work.join("charts/by region")).unwrap();
    fs::write(work.join("charts/by region/north.png"), "png").unwrap();
    // Two paths that would have one name.
    fs::write(work.join("charts-x"), "1").unwrap();
    fs::write(work.join("charts/x"), "2").unwrap();
    fs::write(work.join(".hidden"), "x").unwrap();
    let products = place.folder.collect_products().unwrap();
    assert_eq!(names(&products), ["changed.csv", "charts-by region-north.png", "charts-x"]);
    assert_eq!(products.left_out, ["charts-x"]);
}

#[test]
fn links_pipes_and_large_files_are_left_out_by_name() {
    let place = Place::with(&[]);
    let work = place.work();
    let canary = place.parent.path().join("canary");
    symlink(&canary, work.join("soft")).unwrap();
    fs::hard_link(&canary, work.join("hard")).unwrap();
    symlink(place.parent.path(), work.join("folder")).unwrap();
    rustix::fs::mknodat(CWD, work.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    File::create(work.join("large")).unwrap().set_len(MAX_PRODUCT + 1).unwrap();
    let products = place.folder.collect_products().unwrap();
    assert!(products.files.is_empty());
    assert_eq!(products.left_out, ["folder", "hard", "large", "pipe", "soft"]);
}

#[test]
fn products_are_limited_in_number_and_in_their_sum() {
    let place = Place::with(&[]);
    for number in 0..23 {
        fs::write(place.work().join(format!("{number:02}.txt")), "x").unwrap();
    }
    let products = place.folder.collect_products().unwrap();
    assert_eq!(products.files.len(), MAX_PRODUCTS);
    assert_eq!(products.left_out, ["20.txt", "21.txt", "22.txt"]);
    let place = Place::with(&[]);
    for number in 0..5 {
        let file = File::create(place.work().join(format!("sparse-{number}"))).unwrap();
        file.set_len(MAX_PRODUCT).unwrap();
    }
    fs::write(place.work().join("x"), "small").unwrap();
    let products = place.folder.collect_products().unwrap();
    assert_eq!(names(&products), ["sparse-0", "sparse-1", "sparse-2", "x"]);
    assert_eq!(products.left_out, ["sparse-3", "sparse-4"]);
}

#[test]
fn folder_that_takes_the_place_of_work_is_not_looked_into() {
    let place = Place::with(&[]);
    fs::write(place.work().join("own.txt"), "own").unwrap();
    fs::rename(place.work(), place.root().join("moved")).unwrap();
    symlink(place.parent.path(), place.work()).unwrap();
    let products = place.folder.collect_products().unwrap();
    assert_eq!(names(&products), ["own.txt"]);
}

#[test]
fn removed_folder_leaves_nothing() {
    let place = Place::with(&[("a.csv", "x")]);
    fs::create_dir_all(place.work().join("a/b/c")).unwrap();
    let Place { parent, folder } = place;
    drop(folder);
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
}

/// An entry that foreign code makes, at one of a few paths.
#[derive(Debug, Clone)]
enum Made {
    File(String),
    Folder(String),
    LinkOut(String),
    LinkIn(String, String),
    HardLinkOut(String),
    Renamed(String, String),
    Removed(String),
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..4)
        .prop_map(|parts| parts.join("/"))
}

fn made() -> impl Strategy<Value = Made> {
    prop_oneof![
        path().prop_map(Made::File),
        path().prop_map(Made::Folder),
        path().prop_map(Made::LinkOut),
        (path(), path()).prop_map(|(at, to)| Made::LinkIn(at, to)),
        path().prop_map(Made::HardLinkOut),
        (path(), path()).prop_map(|(from, to)| Made::Renamed(from, to)),
        path().prop_map(Made::Removed),
    ]
}

/// Makes an entry as far as the tree allows it.
fn make(work: &Path, canary: &Path, made: &Made) {
    let _not_possible = match made {
        // It follows no link: what is tested is the collector, and no jail stands here.
        Made::File(path) => {
            File::create_new(work.join(path)).and_then(|mut file| file.write_all(b"own"))
        }
        Made::Folder(path) => fs::create_dir_all(work.join(path)),
        Made::LinkOut(path) if path.ends_with('a') => symlink(canary, work.join(path)),
        Made::LinkOut(path) => symlink(canary.parent().unwrap(), work.join(path)),
        Made::LinkIn(at, to) => symlink(work.join(to), work.join(at)),
        Made::HardLinkOut(path) => fs::hard_link(canary, work.join(path)),
        Made::Renamed(from, to) => fs::rename(work.join(from), work.join(to)),
        Made::Removed(path) => fs::remove_file(work.join(path)),
    };
}

fn check_products(products: &Products) {
    for file in &products.files {
        let content = String::from_utf8_lossy(&file.content);
        // A file that is being written may still be empty.
        assert!(content == "own" || content.is_empty(), "{} holds {content}", file.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn collector_reads_nothing_from_elsewhere_whatever_the_tree(entries in prop::collection::vec(made(), 0..40)) {
        let place = Place::with(&[]);
        let canary = place.parent.path().join("canary");
        entries.iter().for_each(|entry| make(&place.work(), &canary, entry));
        check_products(&place.folder.collect_products().unwrap());
        drop(place.folder);
        prop_assert_eq!(fs::read_to_string(canary).unwrap(), "secret");
    }

    #[test]
    fn collector_reads_nothing_from_elsewhere_while_the_tree_changes(entries in prop::collection::vec(made(), 8..40)) {
        let place = Place::with(&[]);
        let canary = place.parent.path().join("canary");
        let work = place.work();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    entries.iter().for_each(|entry| make(&work, &canary, entry));
                }
            });
            for _ in 0..20 {
                // What fails loses the products of the job that does such things, and no more.
                if let Ok(products) = place.folder.collect_products() {
                    check_products(&products);
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        prop_assert_eq!(fs::read_to_string(canary).unwrap(), "secret");
    }
}
