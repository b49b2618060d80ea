use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
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

/// Makes an entry that foreign code could make, as far as the tree allows it: a word for its kind, and one or two paths
/// below `work`. Other lines make nothing.
fn make(work: &Path, canary: &Path, line: &str) {
    let is_below =
        |path: &str| path.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    let mut words = line.split(' ');
    let kind = words.next().unwrap_or_default();
    // A jail would keep it from going out by a link.
    let is_inside = |path: &PathBuf| {
        let folder = path.parent().unwrap().canonicalize();
        folder.is_ok_and(|folder| folder.starts_with(work.canonicalize().unwrap_or_default()))
    };
    let paths = words.take_while(|path| is_below(path)).map(|path| work.join(path));
    let paths: Vec<_> = paths.filter(|path| kind == "folder" || is_inside(path)).collect();
    let outside = canary.parent().unwrap();
    let _not_possible = match (kind, paths.as_slice()) {
        ("file", [path]) => File::create_new(path).and_then(|mut file| file.write_all(b"own")),
        ("folder", [path]) if !path.ancestors().any(Path::is_symlink) => fs::create_dir_all(path),
        ("closed", [path]) => fs::create_dir(path)
            .and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o000))),
        ("sparse", [path]) => File::create_new(path).and_then(|file| file.set_len(1 << 30)),
        ("pipe", [path]) => {
            rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).map_err(io::Error::from)
        }
        ("link", [path]) => symlink(canary, path),
        ("folder-link", [path]) => symlink(outside, path),
        ("own-link", [path, target]) => symlink(target, path),
        ("name", [path]) => fs::hard_link(canary, path),
        ("own-name", [path, target]) => fs::hard_link(target, path),
        ("move", [from, to]) => fs::rename(from, to),
        ("remove", [path]) => fs::remove_file(path),
        _ => Ok(()),
    };
}

/// Checks that products hold what the job wrote, and nothing else.
fn check_products(products: &Products) -> Result<(), String> {
    for file in &products.files {
        // A file that is being written may still be empty.
        if !matches!(file.content.as_slice(), b"own" | b"") {
            return Err(format!("{} holds {}", file.name, String::from_utf8_lossy(&file.content)));
        }
    }
    Ok(())
}

mod fuzz {
    use djinn_testkit::fuzz::FuzzPlan;

    use super::*;

    const WORDS: &[&str] = &[
        "file a\n",
        "folder a\n",
        "link a/b\n",
        "folder-link b\n",
        "own-link c a\n",
        "name a\n",
        "own-name a b\n",
        "move a b\n",
        "remove a\n",
        "closed a\n",
        "sparse c\n",
        "pipe b\n",
        "/a",
        "/b",
        "/c",
        " a",
        " b",
        " c",
        "\n",
    ];

    #[test]
    fn collector_reads_nothing_from_elsewhere_whatever_the_tree() {
        let plan = FuzzPlan { corpus: "trees", words: WORDS, max_bytes: 2_000, cases: 300 };
        let tried = plan.run(|input| {
            let place = Place::with(&[]);
            let canary = place.parent.path().join("canary");
            let work = place.work();
            String::from_utf8_lossy(&input.bytes)
                .lines()
                .for_each(|line| make(&work, &canary, line));
            let products = place.folder.collect_products().map_err(|error| error.to_string())?;
            check_products(&products)?;
            let Place { parent, folder } = place;
            drop(folder);
            let left: Vec<_> =
                fs::read_dir(parent.path()).unwrap().flatten().map(|entry| entry.path()).collect();
            match fs::read_to_string(&canary) {
                Ok(text) if text == "secret" && left == [canary] => Ok(()),
                read => Err(format!("the canary: {read:?}, in the folder: {left:?}")),
            }
        });
        println!("{}", tried.unwrap());
    }
}

fn line() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        "file",
        "folder",
        "link",
        "folder-link",
        "own-link",
        "name",
        "own-name",
        "move",
        "remove",
    ]);
    let part = prop::sample::select(vec!["a", "b", "c"]);
    let path = prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"));
    let paths = prop::collection::vec(path, 1..3);
    (kind, paths).prop_map(|(kind, paths)| format!("{kind} {}", paths.join(" ")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn collector_reads_nothing_from_elsewhere_while_the_tree_changes(lines in prop::collection::vec(line(), 8..60)) {
        let place = Place::with(&[]);
        let canary = place.parent.path().join("canary");
        let work = place.work();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    lines.iter().for_each(|line| make(&work, &canary, line));
                }
            });
            for _ in 0..20 {
                // A failure loses only the products of the job that changes its folder meanwhile.
                if let Ok(products) = place.folder.collect_products() {
                    check_products(&products).unwrap();
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        prop_assert_eq!(fs::read_to_string(canary).unwrap(), "secret");
    }
}

/// Bytes that this thread has read.
fn bytes_read() -> u64 {
    let counts = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = counts.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

#[test]
fn what_cannot_be_a_product_is_not_read() {
    let place = Place::with(&[("given.csv", "a")]);
    let work = place.work();
    let create = |name: &str, size: u64| {
        fs::File::create(work.join(name)).unwrap().set_len(size).unwrap();
    };
    for nth in 0..MAX_PRODUCTS {
        create(&format!("a{nth:02}"), 1);
    }
    create("given.csv", MAX_PRODUCT);
    for nth in 0..100 {
        // Beyond the number of products, and without a name that a product may have.
        create(&format!("z{nth}"), MAX_PRODUCT);
        create(&format!("0\n{nth}"), MAX_PRODUCT);
    }
    let before = bytes_read();
    let products = place.folder.collect_products().unwrap();
    assert_eq!((products.files.len(), products.left_out.len()), (MAX_PRODUCTS, MAX_LEFT_OUT));
    let read = bytes_read() - before;
    assert!(read < MAX_PRODUCT, "{read} bytes were read");
}

#[test]
fn large_file_that_was_given_is_unchanged() {
    let text = "x".repeat(usize::try_from(MAX_PRODUCT).unwrap() + 1);
    let place = Place::with(&[("given.csv", &text)]);
    let products = place.folder.collect_products().unwrap();
    assert!(products.files.is_empty() && products.left_out.is_empty(), "{:?}", products.left_out);
}

#[test]
fn collector_holds_few_folders_open() {
    let place = Place::with(&[]);
    let work = place.work();
    for nth in 0..900 {
        fs::create_dir(work.join(format!("{nth}"))).unwrap();
        fs::write(work.join(format!("{nth}/file")), "x").unwrap();
    }
    let mut files = FileWalk::begin(&place.folder.work).unwrap();
    let mut paths = Vec::new();
    let mut most = 0;
    while let Some(node) = files.next_file().unwrap() {
        paths.push(node.path);
        most = most.max(fs::read_dir("/proc/self/fd").unwrap().count());
    }
    assert!(paths.len() == 900 && paths.is_sorted());
    // Tests beside this one hold some, too.
    assert!(most < 500, "{most} descriptors are open");
}
