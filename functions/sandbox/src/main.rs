//! The sandbox function in Lambda's runtime.

fn main() -> Result<(), sandbox::FunctionError> {
    sandbox::run_function()
}
