//! The executor function in Lambda's runtime, with Djinn's own tools.

use djinn_wiring::Djinn;

fn main() -> Result<(), executor::FunctionError> {
    executor::run_function(&Djinn::new())
}
