//! Output of the program.

/// Prints a result to standard output, which holds only results.
#[allow(clippy::print_stdout, reason = "a command line tool speaks to its terminal, here alone")]
pub(crate) fn print_line(line: &str) {
    println!("{line}");
}

/// Prints progress to standard error, apart from the results.
#[allow(clippy::print_stderr, reason = "a command line tool speaks to its terminal, here alone")]
pub(crate) fn print_note(line: &str) {
    eprintln!("{line}");
}
