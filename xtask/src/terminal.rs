//! Output of the commands.

/// Prints a line to standard output.
#[allow(clippy::print_stdout, reason = "a command line tool speaks to its terminal, here alone")]
pub(crate) fn print_line(line: &str) {
    println!("{line}");
}
