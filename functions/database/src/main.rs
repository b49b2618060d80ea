//! The database function in Lambda's runtime.

fn main() -> Result<(), database::FunctionError> {
    database::run_function()
}
