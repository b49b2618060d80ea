//! The text folders named by a variable.

use std::sync::Arc;

use djinn_aws::AwsStore;
use djinn_runtime::port::text_folder::{NameDepth, TextFolder};
use djinn_settings::{InvalidSetting, Setting, VarLookup};
use djinn_tools::local_folder::LocalFolder;

/// Opens the folders named by a setting, separated by colons.
pub(crate) fn open_folders(
    setting: &Setting,
    var: VarLookup<'_>,
    store: &AwsStore,
    depth: NameDepth,
) -> Result<Vec<Arc<dyn TextFolder>>, InvalidSetting> {
    let text = setting.find_text(var).unwrap_or_default();
    let paths = text.split(':').map(str::trim).filter(|path| !path.is_empty());
    paths.map(|path| open_folder(setting, path, store, depth)).collect()
}

/// Opens a folder of the function, or, after an `@`, a prefix of the deployment's bucket.
fn open_folder(
    setting: &Setting,
    path: &str,
    store: &AwsStore,
    depth: NameDepth,
) -> Result<Arc<dyn TextFolder>, InvalidSetting> {
    let Some(prefix) = path.strip_prefix('@') else {
        return Ok(Arc::new(LocalFolder::new(path, depth)));
    };
    let folder = store.open_text_folder(prefix, depth);
    let folder = folder.map_err(|error| setting.problem(&format!("names `{path}`: {error}")))?;
    Ok(Arc::new(folder))
}
