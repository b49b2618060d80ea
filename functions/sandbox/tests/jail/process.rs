//! The processes of a sandbox, as /proc shows them.

use std::fs;
use std::path::Path;

/// The number of the zygote that works below this folder.
pub(crate) fn find_zygote(scratch: &Path) -> u32 {
    let scratch = scratch.to_str().unwrap();
    let is_zygote = |process: &u32| {
        let command = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).into_owned();
        command.contains(scratch) && command.contains("zygote.py")
    };
    // Its children have its command line too, and higher numbers.
    let mut zygotes: Vec<_> = children_of(std::process::id());
    zygotes.retain(is_zygote);
    *zygotes.first().expect("no zygote works here")
}

/// The numbers of the processes that this one has started and that have not ended, the lowest first.
pub(crate) fn children_of(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let mut children: Vec<u32> = tasks
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|text| text.split_whitespace().map(|n| n.parse().unwrap()).collect::<Vec<_>>())
        .collect();
    children.sort_unstable();
    children
}
