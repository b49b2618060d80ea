//! The executor function behind Lambda's runtime, with our own tools.

use djinn_wiring::Djinn;

fn main() -> Result<(), executor::FunctionError> {
    executor::run_function(&Djinn::new())
}
