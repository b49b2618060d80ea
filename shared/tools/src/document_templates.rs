//! The theme of a deployment's documents: `templates/theme.toml`, and the files beside it.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use djinn_core::id::FileName;
use djinn_outside::{DocumentStyle, ToolFileProblem};
use djinn_runtime::port::sandbox::{DocumentFormat, DocumentTheme, SandboxFile};
use djinn_runtime::port::text_folder::{FolderText, TEMPLATES, TextFolder, is_data};

/// The file with colors, fonts and footer.
const THEME: &str = "theme.toml";
/// The files of the logo, and of Word and PowerPoint.
const LOGOS: [&str; 2] = ["logo.png", "logo.jpg"];
const DOCX: &str = "master.docx";
const PPTX: &str = "master.pptx";

/// The templates of a configuration folder, with the last valid state of the theme.
#[derive(Debug, Default)]
pub struct TemplateFiles {
    valid: DocumentStyle,
}

/// The templates of one read.
#[derive(Debug, Default)]
pub struct TemplateReading {
    /// The last valid theme.
    pub style: DocumentStyle,
    /// The names of the other files below the folder, each with the SHA-256 of its content.
    pub files: Vec<(String, Arc<str>)>,
    /// The problems of files.
    pub problems: Vec<ToolFileProblem>,
}

impl TemplateFiles {
    /// Returns the templates in the texts of a configuration folder at the path `folder`. An invalid theme keeps its
    /// last valid state.
    pub fn read(&mut self, folder: &str, texts: &[FolderText]) -> TemplateReading {
        let mut reading = TemplateReading::default();
        let mut style = DocumentStyle::default();
        for (name, text) in TEMPLATES.texts_of(texts) {
            let path = text.path_in(folder);
            let refuse = |rule: String| vec![ToolFileProblem { path: path.clone(), line: 1, rule }];
            let is_known = name == THEME || [DOCX, PPTX].contains(&name) || LOGOS.contains(&name);
            let result = match &text.text {
                Err(rule) => Err(refuse(format!("it {rule}"))),
                Ok(_) if !is_known => Err(refuse(format!(
                    "it is not read: there are {THEME}, {}, {DOCX} and {PPTX}",
                    LOGOS.join(", ")
                ))),
                Ok(sha256) if is_data(&text.name) => {
                    reading.files.push((name.to_owned(), Arc::clone(sha256)));
                    continue;
                }
                Ok(text) => DocumentStyle::read(&path, text),
            };
            match result {
                Ok(valid) => style = valid,
                Err(problems) => {
                    reading.problems.extend(problems);
                    if name == THEME {
                        style = self.valid.clone();
                    }
                }
            }
        }
        self.valid = style.clone();
        TemplateReading { style, ..reading }
    }
}

/// The current templates of a deployment, for the tool that renders documents.
#[derive(Default)]
pub struct DocumentTemplates(RwLock<CurrentTemplates>);

#[derive(Clone, Default)]
struct CurrentTemplates {
    folder: Option<Arc<dyn TextFolder>>,
    style: DocumentStyle,
    files: Vec<(String, Arc<str>)>,
}

impl fmt::Debug for DocumentTemplates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentTemplates").finish_non_exhaustive()
    }
}

impl DocumentTemplates {
    /// Replaces the templates from now on, whose files are in `folder`.
    pub fn replace(&self, folder: Arc<dyn TextFolder>, reading: TemplateReading) {
        let TemplateReading { style, files, .. } = reading;
        let current = CurrentTemplates { folder: Some(folder), style, files };
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = current;
    }

    /// Returns the theme of a document in this format and the theme's files for the job; `None` without a theme. A file
    /// that cannot be read is left out.
    pub async fn read_theme(
        &self,
        format: DocumentFormat,
    ) -> (Option<Box<DocumentTheme>>, Vec<SandboxFile>) {
        let CurrentTemplates { folder, style, files } =
            self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut theme = DocumentTheme { style, ..DocumentTheme::default() };
        let mut job_files = Vec::new();
        for (name, sha256) in files {
            let place = match name.as_str() {
                DOCX if format == DocumentFormat::Docx => &mut theme.docx,
                PPTX if format == DocumentFormat::Pptx => &mut theme.pptx,
                logo if LOGOS.contains(&logo) => &mut theme.logo,
                _ => continue,
            };
            let Some(folder) = &folder else { continue };
            match read_file(&**folder, &name, &sha256).await {
                Ok(file) => {
                    *place = Some(file.name.clone());
                    job_files.push(file);
                }
                Err(problem) => {
                    tracing::warn!(name, problem, "a template cannot be read, and is left out");
                }
            }
        }
        let is_ours = theme == DocumentTheme::default();
        ((!is_ours).then(|| Box::new(theme)), job_files)
    }
}

/// Returns a file of the theme, under a name that no file of a session has by chance.
async fn read_file(
    folder: &dyn TextFolder,
    name: &str,
    sha256: &str,
) -> Result<SandboxFile, String> {
    let path = format!("{}/{name}", TEMPLATES.name);
    let content = folder.read_data(&path).await.map_err(|error| error.to_string())?;
    let ending = name.rsplit_once('.').map_or(name, |(_, ending)| ending);
    let name =
        FileName::new(format!("theme-{sha256}.{ending}")).map_err(|error| error.to_string())?;
    Ok(SandboxFile { name, content })
}

#[cfg(test)]
mod tests {
    use djinn_runtime::port::text_folder::TextFolderError;
    use djinn_runtime::port::tool::BoxFuture;

    use super::*;

    /// A folder whose files contain their own names.
    struct NameFolder;

    impl TextFolder for NameFolder {
        fn path(&self) -> String {
            "c".to_owned()
        }

        fn read_texts(&self) -> BoxFuture<'_, Result<Vec<FolderText>, TextFolderError>> {
            Box::pin(async {
                Ok(["logo.png", "master.docx", "master.pptx"].map(|name| text(name, "a1")).into())
            })
        }

        fn read_data<'a>(
            &'a self,
            name: &'a str,
        ) -> BoxFuture<'a, Result<Vec<u8>, TextFolderError>> {
            Box::pin(async { Ok(name.as_bytes().to_vec()) })
        }
    }

    fn text(name: &str, text: &str) -> FolderText {
        FolderText { name: format!("templates/{name}"), text: Ok(text.into()) }
    }

    #[test]
    fn broken_theme_keeps_its_last_state_and_a_removed_one_is_gone() {
        let mut files = TemplateFiles::default();
        let reading =
            files.read("c", &[text("theme.toml", "footer = 'a'"), text("logo.png", "hash")]);
        assert_eq!(reading.style.footer.as_deref(), Some("a"));
        assert_eq!((reading.files.len(), reading.problems.len()), (1, 0));
        let reading = files.read("c", &[text("theme.toml", "footer = 3"), text("other.toml", "")]);
        let problems: Vec<_> = reading.problems.iter().map(ToString::to_string).collect();
        let not_read = "c/templates/other.toml:1: it is not read: there are theme.toml, logo.png, logo.jpg, \
                        master.docx and master.pptx";
        let footer = "c/templates/theme.toml:1: `footer` must be a text of one line, of at most 120 characters, got `3`";
        assert_eq!(problems, [footer, not_read]);
        assert_eq!(reading.style.footer.as_deref(), Some("a"));
        assert_eq!(files.read("c", &[]).style, DocumentStyle::default());
    }

    #[tokio::test]
    async fn document_has_the_files_of_its_format() {
        let texts = NameFolder.read_texts().await.unwrap();
        let reading = TemplateFiles::default().read("c", &texts);
        assert!(reading.problems.is_empty(), "{:?}", reading.problems);
        let templates = DocumentTemplates::default();
        assert_eq!(templates.read_theme(DocumentFormat::Pdf).await, (None, Vec::new()));
        templates.replace(Arc::new(NameFolder), reading);
        for (format, contents) in [
            (DocumentFormat::Docx, vec!["logo.png", "master.docx"]),
            (DocumentFormat::Pptx, vec!["logo.png", "master.pptx"]),
            (DocumentFormat::Html, vec!["logo.png"]),
        ] {
            let (theme, files) = templates.read_theme(format).await;
            let theme = theme.unwrap();
            let named = [theme.logo, theme.docx, theme.pptx].into_iter().flatten();
            assert!(named.eq(files.iter().map(|file| file.name.clone())));
            let paths = contents.into_iter().map(|name| format!("templates/{name}").into_bytes());
            assert!(files.into_iter().map(|file| file.content).eq(paths));
        }
    }
}
