//! What the commands say.

/// The line goes to standard output, with a line end after it.
#[allow(clippy::print_stdout, reason = "a command line tool speaks to its terminal, here alone")]
pub(crate) fn print_line(line: &str) {
    println!("{line}");
}
