//! The sandbox function behind Lambda's runtime.

fn main() -> Result<(), sandbox::FunctionError> {
    sandbox::run_function()
}
