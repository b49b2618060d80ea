//! The files of a session that a job in the sandbox is given.

use djinn_core::file::ProductFile;
use djinn_runtime::port::StoreError;
use djinn_runtime::port::file::Files;
use djinn_runtime::port::sandbox::{SandboxError, SandboxFile};
use djinn_runtime::port::tool::{ToolContext, ToolError};
use djinn_runtime::prompt::{self, Fragment, Prompts};
use futures::future::try_join_all;
use serde_json::{Value, json};

/// Files that a job is given at most.
const MAX_FILES: usize = 100;

/// The files of a job.
pub(crate) struct JobFiles {
    /// Those that are there.
    pub(crate) files: Vec<SandboxFile>,
    /// The names of those that do not fit.
    pub(crate) left_behind: Vec<String>,
}

/// The files that the run knows of: first those that `words` name, then the newest, as many as have
/// `max_bytes` together.
///
/// # Errors
/// [`StoreError`] when the store cannot be reached.
pub(crate) async fn choose_files<F: Files>(
    files: &F,
    context: &ToolContext,
    max_bytes: u64,
    words: &str,
) -> Result<JobFiles, StoreError> {
    let mut known = files.list_files(&context.session).await?;
    known.retain(|file| context.files.contains(&file.name));
    known.reverse();
    // A stable sort: what is named comes first, and of both the newest.
    known.sort_by_key(|file| !words.contains(file.name.as_str()));
    let (chosen, left_behind) = split_by_size(known, max_bytes);
    Ok(JobFiles { files: read_files(files, context, &chosen).await?, left_behind })
}

/// The images that the run knows of and `text` names, as many as have `max_bytes` together.
///
/// # Errors
/// [`StoreError`] when the store cannot be reached.
pub(crate) async fn choose_images<F: Files>(
    files: &F,
    context: &ToolContext,
    max_bytes: u64,
    text: &str,
) -> Result<Vec<SandboxFile>, StoreError> {
    let mut known = files.list_files(&context.session).await?;
    let unescaped = text.replace("%20", " ");
    known.retain(|file| {
        let is_named = || unescaped.contains(file.name.as_str());
        context.files.contains(&file.name) && file.media_type.starts_with("image/") && is_named()
    });
    let (chosen, _) = split_by_size(known, max_bytes);
    read_files(files, context, &chosen).await
}

async fn read_files<F: Files>(
    files: &F,
    context: &ToolContext,
    chosen: &[ProductFile],
) -> Result<Vec<SandboxFile>, StoreError> {
    let read = chosen.iter().map(async |file| {
        let content = files.read_file(&context.session, file, file.size).await?;
        Ok::<_, StoreError>(SandboxFile { name: file.name.clone(), content })
    });
    try_join_all(read).await
}

fn split_by_size(known: Vec<ProductFile>, max_bytes: u64) -> (Vec<ProductFile>, Vec<String>) {
    let (mut chosen, mut left_behind) = (Vec::new(), Vec::new());
    let mut room = max_bytes;
    for file in known {
        if file.size <= room && chosen.len() < MAX_FILES {
            room -= file.size;
            chosen.push(file);
        } else {
            left_behind.push(file.name.to_string());
        }
    }
    (chosen, left_behind)
}

/// What the model is told where a job was not done.
pub(crate) fn explain_sandbox_error(
    prompts: &Prompts,
    context: &ToolContext,
    error: &SandboxError,
) -> ToolError {
    let problem = match error {
        SandboxError::Disabled(_) => "disabled",
        SandboxError::Unavailable(_) => "unavailable",
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
        let (chosen, left_behind) = split_by_size(known, 100);
        let names: Vec<_> = chosen.iter().map(|file| file.name.as_str()).collect();
        assert_eq!((names, left_behind), (vec!["a.csv", "c.csv"], vec!["b.csv".to_owned()]));
    }
}
