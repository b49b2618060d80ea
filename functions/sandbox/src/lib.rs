//! The sandbox function: a parent on Lambda's Runtime API that holds no secret and no right, and a Python
//! beneath it that forks a jailed child for each job. On a laptop the same parent works in process.

mod function;
mod handler;
mod local_sandbox;
mod objects;
mod scripts;
mod seccomp;
mod work_folder;
mod zygote;

pub use function::{FunctionError, run_function};
pub use local_sandbox::LocalSandbox;
pub use zygote::{Walls, ZygoteSettings};
