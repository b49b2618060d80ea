//! The session files for a sandbox job.

use djinn_core::file::ProductFile;
use djinn_core::id::FileName;
use djinn_messages::Wording;
use djinn_runtime::port::StoreError;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::sandbox::{JobContext, JobWait, Sandbox, SandboxError, SandboxFile};
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Fragment, Prompts};
use futures::future::try_join_all;
use serde_json::{Value, json};

/// Maximum number of files for a job.
pub(crate) const MAX_FILES: usize = 100;

/// The files of a job.
pub(crate) struct JobFiles {
    /// The names of all files for the job.
    pub(crate) names: Vec<FileName>,
    /// The files sent with the job.
    pub(crate) files: Vec<SandboxFile>,
    /// The job's session, with the files read by the sandbox itself.
    pub(crate) context: JobContext,
    /// The names of files that do not fit.
    pub(crate) left_behind: Vec<String>,
}

/// Chooses files known to the run: first files named by `words`, then the newest, at most `most` and within
/// the sandbox's limits.
///
/// # Errors
/// Returns [`StoreError`] if the store is unavailable.
pub(crate) async fn choose_files<F: Files>(
    files: &F,
    context: &ToolContext,
    sandbox: &dyn Sandbox,
    most: usize,
    words: &str,
) -> Result<JobFiles, StoreError> {
    let mut candidates = files.list_files(&context.session).await?;
    candidates.retain(|file| context.files.contains(&file.name));
    candidates.reverse();
    // The stable sort keeps named files first, newest first within each group.
    candidates.sort_by_key(|file| !words.contains(file.name.as_str()));
    bring_files(files, context, sandbox, candidates, most).await
}

/// Chooses images known to the run and named by `text`, within the sandbox's limits.
///
/// # Errors
/// Returns [`StoreError`] if the store is unavailable.
pub(crate) async fn choose_images<F: Files>(
    files: &F,
    context: &ToolContext,
    sandbox: &dyn Sandbox,
    text: &str,
) -> Result<JobFiles, StoreError> {
    let mut candidates = files.list_files(&context.session).await?;
    let decoded_text = text.replace("%20", " ");
    candidates.retain(|file| {
        let is_named = || decoded_text.contains(file.name.as_str());
        context.files.contains(&file.name) && file.media_type.starts_with("image/") && is_named()
    });
    bring_files(files, context, sandbox, candidates, MAX_FILES).await
}

/// Returns the files that fit, read unless the sandbox reads files itself.
///
/// # Errors
/// Returns [`StoreError`] if the store is unavailable.
pub(crate) async fn bring_files<F: Files>(
    files: &F,
    context: &ToolContext,
    sandbox: &dyn Sandbox,
    candidates: Vec<ProductFile>,
    most: usize,
) -> Result<JobFiles, StoreError> {
    let (chosen_files, left_behind) = split_by_size(candidates, sandbox.max_bytes(), most);
    let names = chosen_files.iter().map(|file| file.name.clone()).collect();
    let job = job_context(context);
    if sandbox.reads_files() {
        let context = JobContext { stored: chosen_files, ..job };
        return Ok(JobFiles { names, files: Vec::new(), context, left_behind });
    }
    let contents = chosen_files.iter().map(async |file| {
        let content = files.read_file(&context.session, file, file.size).await?;
        Ok::<_, StoreError>(SandboxFile { name: file.name.clone(), content })
    });
    Ok(JobFiles { names, files: try_join_all(contents).await?, context: job, left_behind })
}

/// Returns the context of a call's job, with progress shown to viewers during the wait.
pub(crate) fn job_context(context: &ToolContext) -> JobContext {
    let progress = context.progress.clone();
    let language = context.language;
    JobContext::new(&context.session).with_wait_reporter(move |wait| {
        let text = match wait {
            JobWait::Queue { place } => {
                Wording::SandboxQueue.fill(language, &[("place", &place.to_string())])
            }
            JobWait::Installation { done, total } => {
                let done = done.to_string();
                let total = total.to_string();
                Wording::SandboxInstallation.fill(language, &[("done", &done), ("total", &total)])
            }
        };
        progress.report(&text);
    })
}

fn split_by_size(
    candidates: Vec<ProductFile>,
    max_bytes: u64,
    most: usize,
) -> (Vec<ProductFile>, Vec<String>) {
    let mut chosen_files = Vec::new();
    let mut left_behind = Vec::new();
    let mut room = max_bytes;
    for file in candidates {
        if file.size <= room && chosen_files.len() < most {
            room -= file.size;
            chosen_files.push(file);
        } else {
            left_behind.push(file.name.to_string());
        }
    }
    (chosen_files, left_behind)
}

/// Returns the error for the model after a failed job.
pub(crate) fn explain_sandbox_error(
    prompts: &Prompts,
    context: &ToolContext,
    error: &SandboxError,
) -> ToolError {
    let problem = match error {
        SandboxError::Disabled(_) => "disabled",
        SandboxError::Unavailable(_) => "unavailable",
        SandboxError::Unready(_) => "unready",
        SandboxError::Busy { .. } => "busy",
    };
    tracing::warn!(problem, why = %error, "a job was not done in the sandbox");
    let values = json!({"problem": problem, "detail": error.to_string()});
    render_error(prompts, context, prompt::SANDBOX_REFUSED, values)
}

pub(crate) fn render_error(
    prompts: &Prompts,
    context: &ToolContext,
    fragment: Fragment,
    values: Value,
) -> ToolError {
    ToolError::from_detail(prompts.render(context.language, fragment, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_left_behind_by_name() {
        let file = |name: &str, size| ProductFile {
            size,
            ..serde_json::from_value(json!({
                "name": name, "description": "", "size": 0, "internal": false,
                "media_type": "text/csv", "object": "o", "version": "v",
            }))
            .unwrap()
        };
        let known = vec![file("a.csv", 60), file("b.csv", 50), file("c.csv", 40)];
        let names = |most| {
            let (chosen, left_behind) = split_by_size(known.clone(), 100, most);
            let chosen = chosen.iter().map(|file| file.name.to_string());
            (chosen.collect::<Vec<_>>().join(" "), left_behind.join(" "))
        };
        assert_eq!(names(9), ("a.csv c.csv".to_owned(), "b.csv".to_owned()));
        assert_eq!(names(1), ("a.csv".to_owned(), "b.csv c.csv".to_owned()));
    }
}
