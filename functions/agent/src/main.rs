//! The agent function behind Lambda's runtime, with our own tools.

use djinn_wiring::Djinn;

fn main() -> Result<(), agent::FunctionError> {
    agent::run_function(&Djinn::new())
}
