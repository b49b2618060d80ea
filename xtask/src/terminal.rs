//! What the commands say.

/// Prints a line.
#[allow(clippy::print_stdout, reason = "a command line tool speaks to its terminal, here alone")]
pub(crate) fn print_line(line: &str) {
    println!("{line}");
}
