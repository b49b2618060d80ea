//! The routes of JoyAgent's clients, in the formats that these clients expect.

mod feedback;
mod file;

pub(crate) use feedback::{cancel_feedback, give_feedback, pending_feedback};
pub(crate) use file::{get_file, get_file_list, upload_file, upload_file_data, upload_url};
