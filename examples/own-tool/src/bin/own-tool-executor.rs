//! The executor function of this deployment.

fn main() -> Result<(), executor::FunctionError> {
    executor::run_function(&own_tool::build_djinn())
}
