//! The commands behind the aliases in `.cargo/config.toml`: one module each.

mod advisories;
mod bench;
mod dev;
mod documents;
mod key;
mod process;
mod soak;
mod steps;
mod template;
mod terminal;
mod time;
mod venv;
mod verify;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
cargo dev                     the whole system on this machine; see `cargo dev --help`
cargo verify [--only STEP]…   everything CI runs, or these steps of it; --list names them
cargo soak [--only STEP]…     what takes long: the deployable build, and more of what verify tries
cargo bench-run [--json]      how fast and how small it is, beside what it has to reach
cargo xtask advisories [DIR]  compares Cargo.lock with the RustSec database, a copy in DIR or fetched
cargo xtask docs              writes the documents in docs/ that are made from the code
cargo xtask key --tenant T --user U   makes an API key, and the line that DJINN_API_KEYS keeps of it
cargo xtask template          checks template.yaml and writes target/template.json";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match std::env::var_os(verify::rustdoc::ACTIVE) {
        Some(_) => verify::rustdoc::run_rustdoc(&words),
        None => run_command(&words),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::print_line(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run_command(words: &[&str]) -> anyhow::Result<()> {
    match words {
        ["advisories", arguments @ ..] => advisories::run_check(arguments),
        ["bench-run", arguments @ ..] => bench::run_bench(arguments),
        ["dev", "--help" | "-h"] => {
            terminal::print_line(dev::USAGE);
            Ok(())
        }
        ["dev", arguments @ ..] => dev::run(arguments),
        ["docs"] => documents::write(),
        ["key", arguments @ ..] => key::run(arguments),
        ["soak", arguments @ ..] => soak::run(arguments),
        ["template"] => template::run(),
        ["verify", arguments @ ..] => verify::run(arguments),
        _ => anyhow::bail!("{USAGE}"),
    }
}
