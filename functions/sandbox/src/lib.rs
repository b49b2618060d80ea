//! The sandbox function: a parent on Lambda's Runtime API without secrets and rights, and a Python process.
//! Python forks a jailed child for each job. On a laptop the same parent runs in process.

mod disk_usage;
mod file_jobs;
mod function;
mod handler;
mod job_folder;
mod local_sandbox;
mod machine_memory;
mod objects;
mod output;
mod packet;
mod queue;
mod removal;
mod running_job;
mod scratch;
mod scripts;
mod seccomp;
mod standstill;
mod tree;
mod walls;
mod zygote;

pub use function::{FunctionError, run_function};
pub use local_sandbox::LocalSandbox;
pub use scratch::remove_leftovers;
pub use walls::Walls;
pub use zygote::{WallChoice, ZygoteSettings};
