//! The agent function in Lambda's runtime, with Djinn's own tools.

use djinn_wiring::Djinn;

fn main() -> Result<(), agent::FunctionError> {
    agent::run_function(&Djinn::new())
}
