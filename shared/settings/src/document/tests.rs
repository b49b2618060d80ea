use serde_json::json;

use super::*;

static ROWS: &[&Setting] = &[
    &Setting::choice("DJINN_LANGUAGE", &["en", "zh"]).in_file("language"),
    &Setting::number("DJINN_LIMITS__MAX_STEPS", 1, 1_000).in_file("limits.max_steps"),
    &Setting::money("DJINN_LIMITS__MAX_USD").in_file("limits.max_usd"),
    &Setting::money_limit("DJINN_LIMITS__USER_DAY_USD").in_file("limits.user_day_usd"),
    &Setting::switch("DJINN_SAFETY__MASK_PII").in_file("safety.mask_pii"),
    &Setting::form("DJINN_SAFETY__CONTENT_CHECKER__KEY", "`env:NAME` or `secret:NAME`")
        .mark_secret()
        .in_file("safety.content_checker.key"),
    &file::MODELS,
    &file::ROLES,
    &Setting::json("DJINN_SAFETY__DENY_LIST", "a list of phrases").in_file("safety.deny_list"),
    &Setting::text("DJINN_TABLE"),
];

fn read(text: &str, environment: &[(&str, &str)]) -> Result<SettingsDocument, Vec<String>> {
    let find_variable = |name: &str| {
        let variable = environment.iter().find(|(other, _)| *other == name);
        variable.map(|(_, value)| (*value).to_owned())
    };
    let document = SettingsDocument::read(ROWS, FILE_NAME, text, &find_variable);
    document.map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

const WHOLE: &str = r#"
language = "zh"

[limits]
max_steps = 1_0
max_usd = 0.25
user_day_usd = "10 if priced"

[safety]
mask_pii = true
deny_list = ["one", "two"]
content_checker.key = "env:KEY"

[models.main]
model = "m"
temperature = 0.5
tools = [{ name = "a" },
  { name = "b" }]
"#;

#[test]
fn fields_are_the_texts_that_rows_read() {
    let document = read(WHOLE, &[]).unwrap();
    for (name, text) in [
        ("DJINN_LANGUAGE", "zh"),
        ("DJINN_LIMITS__MAX_STEPS", "10"),
        ("DJINN_LIMITS__MAX_USD", "0.25"),
        ("DJINN_LIMITS__USER_DAY_USD", "10 if priced"),
        ("DJINN_SAFETY__MASK_PII", "1"),
        ("DJINN_SAFETY__DENY_LIST", r#"["one","two"]"#),
        ("DJINN_SAFETY__CONTENT_CHECKER__KEY", "env:KEY"),
    ] {
        assert_eq!(document.find_text(name), Some(text), "{name}");
    }
    assert_eq!(read("", &[]).unwrap().find_text("DJINN_LANGUAGE"), None);
}

#[test]
fn each_place_is_named() {
    let environment = [("DJINN_LANGUAGE", "en")];
    let document = read(WHOLE, &environment).unwrap();
    for (path, place) in [
        ("limits.max_steps", "djinn.toml:5"),
        ("limits.max_tokens", "djinn.toml:4"),
        ("models.main.temperature", "djinn.toml:16"),
        ("models.main.tools.1.name", "djinn.toml:18"),
        ("models.main.key", "djinn.toml:14"),
        ("models.main.model", "djinn.toml:15"),
        ("language", "DJINN_LANGUAGE"),
        ("roles", "djinn.toml"),
    ] {
        assert_eq!(document.place(path), place, "{path}");
    }
}

#[test]
fn variables_override_fields() {
    let environment = [
        ("PATH", "/bin"),
        ("DJINN_TABLE", "another setting"),
        ("DJINN_LIMITS__MAX_STEPS", "20"),
        ("DJINN_SAFETY__MASK_PII", ""),
        ("DJINN_SAFETY__DENY_LIST", r#"["three"]"#),
        ("DJINN_ROLES", r#"{"default":"main"}"#),
    ];
    let document = read(WHOLE, &environment).unwrap();
    for (name, text) in [
        ("DJINN_LIMITS__MAX_STEPS", "20"),
        ("DJINN_SAFETY__MASK_PII", "1"),
        ("DJINN_SAFETY__DENY_LIST", r#"["three"]"#),
    ] {
        assert_eq!(document.find_text(name), Some(text), "{name}");
    }
    let models: Value = serde_json::from_str(document.find_text("DJINN_MODELS").unwrap()).unwrap();
    assert_eq!(
        (&models["default"], &models["models"]["main"]["model"]),
        (&json!("main"), &json!("m"))
    );
    let roles = read("[roles]\ndefault = \"a\"\nsummary = \"b\"", &[]).unwrap();
    assert_eq!(roles.find_text("DJINN_MODELS"), Some(r#"{"default":"a","roles":{"summary":"b"}}"#));
    for (name, value, problem) in [
        (
            "DJINN_LIMITS__MAX_STEPS",
            "many",
            "DJINN_LIMITS__MAX_STEPS must be a whole number from 1 to 1000, got `many`",
        ),
        ("DJINN_SAFETY__DENY_LIST", "{", "DJINN_SAFETY__DENY_LIST is not JSON: line 1, column 1"),
    ] {
        assert_eq!(read(WHOLE, &[(name, value)]).unwrap_err(), [problem]);
    }
}

#[test]
fn a_broken_file_is_described_line_by_line() {
    for (text, problem) in [
        ("language = \"fr\"", "1: language must be en or zh, got `\"fr\"`"),
        ("language = 1", "1: language must be en or zh, got `1`"),
        ("\n\nlanguage = true", "3: language must be en or zh, got `true`"),
        ("Language = \"en\"", "1: `Language` is not a setting: did you mean `language`?"),
        ("lang = \"en\"", "1: `lang` is not a setting; docs/settings.md lists all"),
        ("max_steps = 3", "1: `max_steps` is not a setting: did you mean `limits.max_steps`?"),
        ("limits = 3", "1: `limits` must be a table, such as `[limits]`"),
        ("[[limits]]\nmax_steps = 3", "1: `limits` must be a table, such as `[limits]`"),
        ("[limit]\nmax_steps = 3", "1: `limit` is not a setting: did you mean `limits`?"),
        (
            "[limits]\nmax_step = 3",
            "2: `limits.max_step` is not a setting: did you mean `limits.max_steps`?",
        ),
        (
            "[limits]\nmaxSteps = 3",
            "2: `limits.maxSteps` is not a setting: did you mean `limits.max_steps`?",
        ),
        (
            "[limits]\nmask_pii = true",
            "2: `limits.mask_pii` is not a setting: did you mean `safety.mask_pii`?",
        ),
        (
            "[limits]\nmax_steps = 0",
            "2: limits.max_steps must be a whole number from 1 to 1000, got `0`",
        ),
        (
            "[limits]\nmax_steps = 1001",
            "2: limits.max_steps must be a whole number from 1 to 1000, got `1001`",
        ),
        (
            "[limits]\nmax_steps = -1",
            "2: limits.max_steps must be a whole number from 1 to 1000, got `-1`",
        ),
        (
            "[limits]\nmax_steps = 1.5",
            "2: limits.max_steps must be a whole number from 1 to 1000, got `1.5`",
        ),
        (
            "[limits]\nmax_steps = \"3\"",
            "2: limits.max_steps must be a whole number from 1 to 1000, got `\"3\"`",
        ),
        (
            "[limits]\nmax_steps = [3]",
            "2: limits.max_steps must be a whole number from 1 to 1000, got `[3]`",
        ),
        (
            "[limits]\nmax_steps.a = 3",
            "2: limits.max_steps must be a whole number from 1 to 1000, got `",
        ),
        ("[limits]\nmax_usd = \"2\"", "2: limits.max_usd must be an amount of US dollars from"),
        ("[limits]\nmax_usd = 0", "2: limits.max_usd must be an amount of US dollars from"),
        ("[limits]\nmax_usd = inf", "2: limits.max_usd must be an amount of US dollars from"),
        ("[limits]\nmax_usd = 0.0000001", "2: limits.max_usd must be an amount of US dollars from"),
        (
            "[limits]\nuser_day_usd = \"10 when priced\"",
            "2: limits.user_day_usd must be an amount of US dollars",
        ),
        ("[safety]\nmask_pii = 1", "2: safety.mask_pii must be true or false, got `1`"),
        ("[safety]\nmask_pii = \"yes\"", "2: safety.mask_pii must be true or false, got `\"yes\"`"),
        (
            "[safety]\ncontent_checker.key = 12345",
            "2: safety.content_checker.key must be `env:NAME` or `secret:NAME`, got `another text`",
        ),
        (
            "[safety]\ndeny_list = [nan]",
            "2: safety.deny_list must be a list of phrases, got `a number that JSON lacks`",
        ),
        ("[limits]\nmax_steps = 3\nmax_steps = 4", "3: duplicate key"),
        ("[limits]\n[limits]", "2: duplicate key"),
        ("[limits", "1: unclosed table, expected `]`"),
        ("max steps = 3", "1: "),
        ("language = en", "1: "),
        ("language = ", "1: "),
        ("= 3", "1: "),
        ("language = \"en", "1: "),
        ("language = \"\\q\"", "1: "),
        ("\u{feff}\u{feff}language = \"en\"", "1: "),
        ("\0", "1: "),
        ("language: en", "1: "),
        ("{\"language\": \"en\"}", "1: "),
        ("<<<<<<< HEAD", "1: "),
    ] {
        let problems = read(text, &[]).expect_err(text);
        let expected = format!("djinn.toml:{problem}");
        assert!(problems[0].starts_with(&expected), "{text}\n{problems:?}\n{expected}");
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let text = "langauge = \"en\"\n[limits]\nmax_steps = 0\nmax_tokns = 1\n";
    let problems = read(text, &[("DJINN_LIMITS__MAX_USD", "free")]).unwrap_err();
    assert_eq!(problems.len(), 4, "{problems:?}");
    assert!(problems[0].starts_with("djinn.toml:1:"), "{problems:?}");
    assert!(problems[3].starts_with("DJINN_LIMITS__MAX_USD must be"), "{problems:?}");
}
