//! The gateway function behind Lambda's runtime.

fn main() -> Result<(), gateway::FunctionError> {
    gateway::run_function()
}
