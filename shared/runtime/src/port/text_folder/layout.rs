//! The names of files in a configuration folder.

use djinn_agents::DATA_ENDINGS;
use djinn_core::language::Language;
use djinn_settings::FILE_NAME;

use super::FolderText;

/// The maximum length of a file's name without its folder and language, in characters.
const MAX_NAME: usize = 100;

/// The file that every folder may have, for people.
pub const README: &str = "README.md";

/// A folder of the configuration folder. With languages, it has texts for both and for one: `NAME.md`, `en/NAME.md` and
/// `zh/NAME.md`.
#[derive(Debug, PartialEq, Eq)]
pub struct FolderLayout {
    /// The name in the configuration folder.
    pub name: &'static str,
    /// The ending of every text, without a dot.
    pub ending: &'static str,
    /// True if a text may be for one language.
    pub has_languages: bool,
    /// True if texts lie in groups below their language: `en/GROUP/NAME.md`.
    pub has_groups: bool,
    /// The endings of files with data, which are no texts.
    pub data_endings: &'static [&'static str],
}

/// The agents.
pub const AGENTS: FolderLayout = FolderLayout { name: "agents", ..TEXTS };

/// The agents that users start, unless their files say otherwise.
pub const MODES: FolderLayout = FolderLayout { name: "modes", ..TEXTS };

/// The prompts in place of ours.
pub const PROMPTS: FolderLayout = FolderLayout { name: "prompts", has_groups: true, ..TEXTS };

/// The certificate authorities of databases.
pub const CONNECTIONS: FolderLayout =
    FolderLayout { name: "connections", ending: "pem", has_languages: false, ..TEXTS };

/// The MCP servers. Their tools are those of the [`SERVERS_LOCK`].
pub const SERVERS: FolderLayout = FolderLayout { name: "tools/servers", ..TOOLS };

/// The file with the accepted tools of all servers.
pub const SERVERS_LOCK: &str = "tools/servers.lock.json";

/// The tables, with the files of their data.
pub const TABLES: FolderLayout =
    FolderLayout { name: "tables", has_languages: false, data_endings: &DATA_ENDINGS, ..TEXTS };

/// The theme of documents, with its logo and its Word and PowerPoint files.
pub const TEMPLATES: FolderLayout = FolderLayout {
    name: "templates",
    ending: "toml",
    has_languages: false,
    data_endings: &["docx", "jpg", "png", "pptx"],
    ..TEXTS
};

/// The tools that are HTTP requests.
pub const TOOLS: FolderLayout =
    FolderLayout { name: "tools", ending: "toml", has_languages: false, ..TEXTS };

/// The workflows.
pub const WORKFLOWS: FolderLayout = FolderLayout { name: "workflows", ending: "yaml", ..TEXTS };

/// Markdown texts for both languages.
const TEXTS: FolderLayout = FolderLayout {
    name: "",
    ending: "md",
    has_languages: true,
    has_groups: false,
    data_endings: &[],
};

/// Every folder of a configuration folder, a folder within another after it.
pub const FOLDERS: &[FolderLayout] =
    &[AGENTS, CONNECTIONS, MODES, PROMPTS, TABLES, TEMPLATES, TOOLS, SERVERS, WORKFLOWS];

impl FolderLayout {
    /// Returns the texts of this folder, each with its name below the folder.
    pub fn texts_of<'a>(
        &self,
        texts: &'a [FolderText],
    ) -> impl Iterator<Item = (&'a str, &'a FolderText)> {
        let entry = move |text: &'a FolderText| {
            let (folder, name) = find_folder(&text.name)?;
            (folder == self).then_some((name, text))
        };
        texts.iter().filter_map(entry)
    }

    /// Returns the name of a file below this folder; `None` for a file elsewhere.
    fn name_below<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.strip_prefix(self.name)?.strip_prefix('/')
    }

    /// Returns the form of the names in this folder.
    fn pattern(&self) -> String {
        let Self { name, ending, has_languages, has_groups, data_endings } = self;
        if !data_endings.is_empty() {
            format!("{name}/NAME.{ending}, or its data {name}/NAME.{}", data_endings.join("|"))
        } else if !has_languages {
            format!("{name}/NAME.{ending}")
        } else if *has_groups {
            format!("{name}/en/GROUP/NAME.{ending} or {name}/zh/GROUP/NAME.{ending}")
        } else {
            format!("{name}/NAME.{ending}, {name}/en/NAME.{ending} or {name}/zh/NAME.{ending}")
        }
    }

    /// Returns true if a name below this folder is valid.
    fn allows(&self, name: &str) -> bool {
        let (language, file) = split_language(name);
        let endings = std::iter::once(&self.ending).chain(self.data_endings);
        let mut stems = endings.filter_map(|ending| file.strip_suffix(ending)?.strip_suffix('.'));
        let Some(stem) = stems.next() else { return false };
        if !self.has_languages && language.is_some() {
            return false;
        }
        let most = if self.has_groups && language.is_some() { 2 } else { 1 };
        (1..=MAX_NAME).contains(&stem.len())
            && !name.contains("..")
            && stem.split('/').count() <= most
            && stem.split('/').all(is_segment)
    }
}

/// Splits the language from a name below a folder; `None` for a text in both languages.
#[must_use]
pub fn split_language(name: &str) -> (Option<Language>, &str) {
    let languages = [Language::En, Language::Zh].into_iter();
    let mut matches = languages.filter_map(|language| {
        Some((language, name.strip_prefix(language.as_str())?.strip_prefix('/')?))
    });
    matches.next().map_or((None, name), |(language, name)| (Some(language), name))
}

/// Returns the innermost folder of a name, and the name below the folder; `None` for a name in no folder, and for the
/// [`SERVERS_LOCK`].
fn find_folder(name: &str) -> Option<(&'static FolderLayout, &str)> {
    if name == SERVERS_LOCK {
        return None;
    }
    FOLDERS.iter().rev().find_map(|folder| Some((folder, folder.name_below(name)?)))
}

/// Returns true for the name of a file with data: its [`FolderText`] is the hash of the content.
#[must_use]
pub fn is_data(name: &str) -> bool {
    find_folder(name).is_some_and(|(folder, name)| {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        ending.is_some_and(|ending| folder.data_endings.contains(&ending))
    })
}

/// Checks that a file of this name is read: `djinn.toml`, the [`SERVERS_LOCK`], or a text of one of the [`FOLDERS`].
///
/// # Errors
/// Returns the valid names, as the rest of a sentence.
pub fn check_name(name: &str) -> Result<(), String> {
    if name == FILE_NAME || name == SERVERS_LOCK {
        return Ok(());
    }
    match find_folder(name) {
        Some((folder, name)) if folder.allows(name) => Ok(()),
        Some((folder, _)) => Err(format!("is not named {}", folder.pattern())),
        None => {
            let folders: Vec<String> =
                FOLDERS.iter().map(|folder| format!("{}/", folder.name)).collect();
            Err(format!("is neither {FILE_NAME} nor a file in {}", folders.join(", ")))
        }
    }
}

fn is_segment(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_djinn_toml_and_texts_of_the_folders() {
        for name in [
            "djinn.toml",
            "agents/a.md",
            "agents/a-1_x.v2.md",
            "agents/en/a.md",
            "modes/zh/a.md",
            "prompts/en/react/system.md",
            "prompts/zh/a.md",
            "prompts/a.md",
            "workflows/weekly.yaml",
            "workflows/zh/weekly.yaml",
            "connections/shop.pem",
            "tables/orders.md",
            "tables/orders.csv",
            "tables/orders.2024.parquet",
            "templates/theme.toml",
            "templates/master.pptx",
            "tools/weather.toml",
            "tools/servers.toml",
            "tools/servers/notes.toml",
            "tools/servers.lock.json",
        ] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let agents = "is not named agents/NAME.md, agents/en/NAME.md or agents/zh/NAME.md";
        let prompts = "is not named prompts/en/GROUP/NAME.md or prompts/zh/GROUP/NAME.md";
        let templates =
            "is not named templates/NAME.toml, or its data templates/NAME.docx|jpg|png|pptx";
        let tables = "is not named tables/NAME.md, or its data tables/NAME.csv|xlsx|parquet";
        let elsewhere = "is neither djinn.toml nor a file in agents/, connections/, modes/, prompts/, tables/, templates/, tools/, tools/servers/, workflows/";
        let long = format!("agents/{}.md", "a".repeat(101));
        for (name, says) in [
            ("agents/../a.md", agents),
            ("agents/en/../a.md", agents),
            ("agents/en/zh/a.md", agents),
            ("agents//etc/a.md", agents),
            ("agents/fr/a.md", agents),
            ("agents/a\\b.md", agents),
            ("agents/a.txt", agents),
            ("agents/amd", agents),
            ("agents/.md", agents),
            ("agents/.hidden.md", agents),
            ("agents/a b.md", agents),
            ("agents/价格.md", agents),
            ("agents/a..md", agents),
            (&long, agents),
            ("prompts/en/a/b/c.md", prompts),
            ("prompts/a/b.md", prompts),
            ("prompts/en/.a/b.md", prompts),
            ("prompts/en//b.md", prompts),
            ("prompts/en/", prompts),
            (
                "workflows/a.md",
                "is not named workflows/NAME.yaml, workflows/en/NAME.yaml or workflows/zh/NAME.yaml",
            ),
            ("connections/a.crt", "is not named connections/NAME.pem"),
            ("tables/a.xls", tables),
            ("tables/en/a.csv", tables),
            ("tables/../a.csv", tables),
            ("tables/.csv", tables),
            ("tables/订单.csv", tables),
            ("agents/a.csv", agents),
            ("templates/logo.svg", templates),
            ("tools/en/a.toml", "is not named tools/NAME.toml"),
            ("tools/a.md", "is not named tools/NAME.toml"),
            ("tools/other/a.toml", "is not named tools/NAME.toml"),
            ("tools/other.lock.json", "is not named tools/NAME.toml"),
            ("tools/servers/a.json", "is not named tools/servers/NAME.toml"),
            ("tools/servers/en/a.toml", "is not named tools/servers/NAME.toml"),
            ("agent/a.md", elsewhere),
            ("a.md", elsewhere),
            ("/agents/a.md", elsewhere),
            ("agents", elsewhere),
            ("djinn.json", elsewhere),
            ("", elsewhere),
        ] {
            assert_eq!(check_name(name), Err(says.to_owned()), "{name}");
        }
    }

    #[test]
    fn a_folder_has_neither_the_files_of_folders_within_nor_the_lock_file() {
        let names = ["tools/a.toml", "tools/servers/b.toml", "tools/servers.lock.json"];
        let texts = names.map(|name| FolderText { name: name.to_owned(), text: Ok("".into()) });
        let below = |folder: &FolderLayout| -> Vec<String> {
            folder.texts_of(&texts).map(|(name, _)| name.to_owned()).collect()
        };
        assert_eq!(
            (below(&TOOLS), below(&SERVERS)),
            (vec!["a.toml".into()], vec!["b.toml".into()])
        );
    }

    #[test]
    fn data_are_files_beside_tables() {
        let names = ["tables/a.csv", "tables/a.xlsx", "tables/a.b.parquet", "templates/logo.png"];
        assert!(names.into_iter().all(is_data));
        let names = ["tables/a.md", "agents/a.csv", "a.csv", "tools/a.toml", "tables/csv"];
        assert!(!names.into_iter().any(is_data));
    }

    #[test]
    fn a_language_is_the_first_folder_of_a_name() {
        assert_eq!(split_language("en/a.md"), (Some(Language::En), "a.md"));
        assert_eq!(split_language("zh/a/b.md"), (Some(Language::Zh), "a/b.md"));
        assert_eq!(split_language("english/a.md"), (None, "english/a.md"));
        assert_eq!(split_language("a.md"), (None, "a.md"));
    }
}
