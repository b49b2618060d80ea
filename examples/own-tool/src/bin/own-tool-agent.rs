//! The agent function of this deployment.

fn main() -> Result<(), agent::FunctionError> {
    agent::run_function(&own_tool::build_djinn())
}
