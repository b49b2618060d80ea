//! The whole system in one process for a laptop: [`System`].

mod backing;
mod demo;
mod demo_search;
mod demo_tables;
mod dispatch;
mod font;
mod laptop_database;
mod laptop_gateway;
mod laptop_sandbox;
mod log;
mod preparation;
mod private;
mod python;
mod resume;
mod saved_run;
mod serve;
mod server_lock;
mod store;
mod system;
mod ui;

pub use backing::{Backing, BackingOptions};
pub use demo_search::DemoSite;
pub use demo_tables::write_demo_tables;
pub use dispatch::{ALARM_EVERY, LocalDispatch};
pub use djinn_postgres::PostgresDatabase;
pub use djinn_wiring::{CheckedFolder, Djinn, check_folder};
pub use font::prepare_fonts;
pub use laptop_database::open_databases;
pub use laptop_sandbox::LaptopSandbox;
pub use log::{log_to_stderr, log_with_observer};
pub use private::create_private_dir;
pub use python::{PythonError, find_python, prepare_python};
pub use sandbox::Walls;
pub use saved_run::{SavedRunError, VerifiedJournal, read_saved_run, verify_saved_run};
pub use serve::{ServeTimeouts, serve};
pub use server_lock::{NewServer, ServerLock};
pub use store::{BUCKET, Stores, StoresError, StoresOptions, TABLE};
pub use system::{
    LocalWorld, System, SystemError, SystemOptions, Var, check_settings, run_executor,
};

// A run makes many small allocations on several threads; glibc's allocator took 20 % of a run's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
