use djinn_core::language::Language::{En, Zh};
use djinn_runtime::prompt::{FILE_MISSING, Prompts, REACT_SYSTEM, STYLE_TABLE};
use serde_json::json;

use super::*;

/// The texts of a configuration folder with these prompts.
fn texts(prompts: &[(&str, &str)]) -> Vec<FolderText> {
    let text = |(name, text): &(&str, &str)| FolderText {
        name: format!("prompts/{name}"),
        text: Ok((*text).into()),
    };
    prompts.iter().map(text).collect()
}

/// The problem of one prompt.
fn problem_of(name: &str, text: &str) -> Option<String> {
    let (_, problems) = PromptFiles::default().read("own", &texts(&[(name, text)]));
    problems.first().map(ToString::to_string)
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
        ("en/agents/writer.md", "", "1: an agent's file lies in the folder `agents`"),
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
        let refused = problem_of(name, text).unwrap_or_else(|| format!("{name} is taken: {text}"));
        assert!(refused.starts_with(&format!("own/prompts/{name}:{says}")), "{refused}");
    }
}

#[test]
fn every_prompt_of_ours_can_stand_in_its_own_place() {
    for language in [En, Zh] {
        for fragment in ALL.iter().filter(|fragment| fragment.name != FRAME.name) {
            let name = format!("{}/{}.md", language.as_str(), fragment.name);
            assert_eq!(problem_of(&name, fragment.template(language)), None);
        }
    }
}

#[test]
fn an_invalid_file_stays_as_it_was_and_a_removed_one_is_ours() {
    let style = "en/style/table.md";
    let (mut files, prompts) = (PromptFiles::default(), Prompts::default());
    let ours = prompts.render(En, STYLE_TABLE, ());
    for (own, rendered, count) in [
        (&[][..], ours.as_str(), 0),
        (&[(style, "{{ One }}")], &ours, 1),
        (&[(style, "One.")], "One.", 0),
        (&[(style, "{{ Two }}")], "One.", 1),
        (&[(style, "Two.")], "Two.", 0),
        (&[], &ours, 0),
    ] {
        let (own, problems) = files.read("own", &texts(own));
        prompts.replace_own(own);
        assert_eq!(
            (prompts.render(En, STYLE_TABLE, ()).as_str(), problems.len()),
            (rendered, count)
        );
    }
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
