//! What the commands say.

/// Prints a line.
#[allow(clippy::print_stdout, reason = "a command line tool speaks to its terminal, here alone")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}
