//! The gateway function in Lambda's runtime.

fn main() -> Result<(), gateway::FunctionError> {
    gateway::run_function()
}
