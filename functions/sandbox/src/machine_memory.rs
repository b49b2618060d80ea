//! The memory of this machine, and the number of jobs that fit.

use std::fs;

/// Maximum bytes of a job: memory, plus the folder if in memory (`python/jail.py`, `python/private_root.py`).
const JOB_BYTES: u64 = (1536 + 256) * 1024 * 1024;
/// The limits of this process's control group: version 2, and version 1.
const GROUP_LIMITS: [&str; 2] =
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

/// Returns the number of jobs that fit into three quarters of the memory, at least 1.
pub(crate) fn count_jobs_at_once() -> usize {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse_total(&text));
    let group =
        GROUP_LIMITS.iter().find_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok());
    // If both are unknown, jobs run one at a time.
    let bytes = machine.into_iter().chain(group).min().unwrap_or_default();
    usize::try_from(bytes / 4 * 3 / JOB_BYTES).unwrap_or(usize::MAX).max(1)
}

/// Parses the bytes of `MemTotal` in /proc/meminfo.
fn parse_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_memory_is_read_in_bytes() {
        assert_eq!(
            parse_total("MemTotal:       24683656 kB\nMemFree: 1 kB\n"),
            Some(25_276_063_744)
        );
        assert_eq!(parse_total("MemFree: 1 kB"), None);
        assert!(count_jobs_at_once() >= 1);
    }
}
