use std::sync::Mutex;

use djinn_core::language::Language::{En, Zh};
use djinn_runtime::port::tool::BoxFuture;
use djinn_runtime::prompt::{FILE_MISSING, Prompts, REACT_SYSTEM, STYLE_TABLE};
use serde_json::json;

use super::*;

/// A folder whose texts a test sets.
struct TestFolder {
    path: &'static str,
    texts: Mutex<Result<Vec<FolderText>, TextFolderError>>,
}

impl TestFolder {
    fn new(path: &'static str, texts: &[(&str, &str)]) -> Arc<Self> {
        let folder = Arc::new(Self { path, texts: Mutex::new(Ok(Vec::new())) });
        folder.set_texts(texts);
        folder
    }

    fn set_texts(&self, texts: &[(&str, &str)]) {
        let text = |(name, text): &(&str, &str)| FolderText {
            name: (*name).to_owned(),
            text: Ok((*text).into()),
        };
        *self.texts.lock().unwrap() = Ok(texts.iter().map(text).collect());
    }
}

impl TextFolder for TestFolder {
    fn path(&self) -> String {
        self.path.to_owned()
    }

    fn read_at_start(&self) -> Option<Result<Vec<FolderText>, TextFolderError>> {
        Some(self.texts.lock().unwrap().clone())
    }

    fn read_texts(&self) -> BoxFuture<'_, Result<Vec<FolderText>, TextFolderError>> {
        Box::pin(async { self.texts.lock().unwrap().clone() })
    }
}

#[test]
fn what_is_wrong_with_a_prompt_is_said_with_file_line_and_rule() {
    let system = "en/react/system.md";
    let long = "x".repeat(1_001);
    let placed = "1: a prompt lies in `en` or `zh`, as `en/react/system.md` does";
    for (name, text, says) in [
        ("system.md", "", placed),
        ("fr/react/system.md", "", placed),
        ("react/system.md", "", placed),
        (
            "en/react/sytem.md",
            "",
            "1: there is no prompt `react/sytem`: did you mean `react/system`?",
        ),
        ("en/system.md", "", "1: there is no prompt `system`: prompts/README.md lists them"),
        ("en/agents/writer.md", "", "1: a file of an agent lies in a folder of `DJINN_AGENTS`"),
        (
            "zh/frame/untrusted.md",
            "{{ text }}",
            "1: the frame around what others wrote cannot be changed",
        ),
        (system, "Today\nis {{ date }", "2: the prompt is not a valid template: "),
        (system, "{% if date %}", "1: the prompt is not a valid template: "),
        (
            system,
            "\n{{ dat }}",
            "2: the prompt uses `dat`, which it is not given: did you mean `date`?",
        ),
        (
            system,
            "{{ something_else }}",
            "1: the prompt uses `something_else`, which it is not given: ours has ",
        ),
        (
            system,
            "{{ date | framd }}",
            "1: the prompt uses the filter `framd`, which does not exist",
        ),
        (system, "{{ date is od }}", "1: the prompt uses the test `od`, which does not exist"),
        (
            system,
            "{% for file in files %}\n{{ file.nme }}{% endfor %}",
            "2: the prompt uses the field `nme`, which the built-in prompt does not have: did you mean `name`?",
        ),
        (
            "en/style/table.md",
            "{{ date }}",
            "1: the prompt uses `date`, which it is not given: ours has none",
        ),
        ("en/style/table.md", &long, "1: the prompt has 1001 characters: the limit is 1000"),
        ("en/tool/look.md", "Looks.", "1: the prompt lacks the section `## "),
        (
            "en/tool/look.md",
            "Looks.\n\n## fles\nAll.",
            "3: the section `fles` is of no parameter; there are ",
        ),
    ] {
        let folder = TestFolder::new("own", &[(name, text)]);
        let refused = PromptSource::open(vec![folder]).err().map(|error| error.to_string());
        let refused = refused.unwrap_or_else(|| format!("{name} is taken: {text}"));
        assert!(refused.starts_with(&format!("own/{name}:{says}")), "{refused}");
    }
}

#[test]
fn every_prompt_of_ours_can_stand_in_its_own_place() {
    for language in [En, Zh] {
        for fragment in ALL.iter().filter(|fragment| fragment.name != FRAME.name) {
            let name = format!("{}/{}.md", language.as_str(), fragment.name);
            let folder = TestFolder::new("own", &[(&name, fragment.template(language))]);
            let refused = PromptSource::open(vec![folder]).err().map(|error| error.to_string());
            assert_eq!(refused, None);
        }
    }
}

#[tokio::test]
async fn of_two_folders_the_later_counts_and_a_broken_file_stays_as_it_was() {
    let style = "en/style/table.md";
    let first = TestFolder::new("one", &[(style, "One."), ("README.md", "{{ nothing }}")]);
    let second = TestFolder::new("two", &[]);
    let folders: Vec<Arc<dyn TextFolder>> = vec![first.clone(), second.clone()];
    let (source, own) = PromptSource::open(folders).unwrap();
    let prompts = Prompts::default();
    let told = |own: OwnPrompts| {
        prompts.replace_own(own);
        prompts.render(En, STYLE_TABLE, ())
    };
    let ours = Prompts::default().render(En, STYLE_TABLE, ());
    assert_eq!(told(own), "One.");
    second.set_texts(&[(style, "Two.")]);
    assert_eq!(told(source.read_prompts().await), "Two.");
    assert_eq!(source.list_problems(), [""; 0]);
    second.set_texts(&[(style, "{{ Two }}")]);
    assert_eq!(told(source.read_prompts().await), "Two.");
    assert_eq!(source.list_problems().len(), 1);
    let gone = TextFolderError("the folder two cannot be read: gone".to_owned());
    second.set_texts(&[(style, "Three.")]);
    assert_eq!(told(source.read_prompts().await), "Three.");
    *second.texts.lock().unwrap() = Err(gone.clone());
    assert_eq!(told(source.read_prompts().await), "Three.");
    assert_eq!(source.list_problems(), [gone.to_string()]);
    second.set_texts(&[]);
    assert_eq!(told(source.read_prompts().await), "One.");
    first.set_texts(&[]);
    assert_eq!(told(source.read_prompts().await), ours);
    assert_eq!(source.list_problems(), [""; 0]);
}

#[test]
fn a_snapshot_stays_and_what_cannot_be_rendered_is_ours() {
    let prompts = Prompts::default();
    let shipped = prompts.version();
    let before = prompts.snapshot();
    let mut own = OwnPrompts::default();
    own.insert(FILE_MISSING, En, "{{ gone }}".into());
    own.insert(REACT_SYSTEM, Zh, "你好。".into());
    prompts.replace_own(own);
    assert_eq!(prompts.render(Zh, REACT_SYSTEM, ()), "你好。");
    assert_ne!(prompts.version(), shipped);
    assert_eq!(before.version(), shipped);
    let values = json!({"name": "a.md", "files": []});
    assert_eq!(prompts.render(En, FILE_MISSING, &values), before.render(En, FILE_MISSING, &values));
    prompts.replace_own(OwnPrompts::default());
    assert_eq!(prompts.version(), shipped);
}
