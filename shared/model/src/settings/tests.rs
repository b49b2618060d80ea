use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use djinn_core::settings::Role;
use djinn_settings::SettingsTable;
use djinn_settings::table::model::{member, whole};
use serde_json::{Value, json};

use super::*;

fn read(vars: &[(&str, &str)]) -> Result<Settings, String> {
    Settings::from_vars(|name| {
        let value = vars.iter().find(|(known, _)| *known == name);
        value.map(|(_, value)| (*value).to_owned())
    })
    .map_err(|error| error.to_string())
}

fn read_json(json: &Value) -> Result<Settings, String> {
    read(&[("DJINN_MODELS", &json.to_string()), ("SOME_KEY", "sk-some-key")])
}

/// Reads one model with these members beside the required ones.
fn one(members: &Value) -> Result<ModelSettings, String> {
    let mut model = json!({"provider": "openai", "model": "m", "key": "env:SOME_KEY"});
    for (key, value) in members.as_object().unwrap() {
        if value == "-" {
            model.as_object_mut().unwrap().remove(key);
        } else {
            model[key] = value.clone();
        }
    }
    let settings = read_json(&json!({"models": {"main": model}}))?;
    Ok(settings.model(Role::React).unwrap().1.clone())
}

#[test]
fn a_single_key_makes_one_model_for_every_role() {
    let settings = read(&[("OPENAI_API_KEY", " sk-1 "), ("ANTHROPIC_API_KEY", "sk-2")]).unwrap();
    let expected = ModelSettings {
        key: ModelKey::Value(Secret::new("sk-1")),
        ..ModelSettings::new(Provider::OPENAI, "gpt-4.1")
    };
    for role in Role::ALL.iter().filter(|role| **role != Role::Second) {
        assert_eq!(settings.model(*role), Some(("default", &expected)));
    }
    assert_eq!(settings.model(Role::Second), None, "a second model is another model");

    let settings = read(&[
        ("OPENAI_API_KEY", "sk-1"),
        ("OPENAI_BASE_URL", "http://localhost:8000/v1"),
        ("OPENAI_MODEL", "qwen3"),
    ]);
    let settings = settings.unwrap();
    let (_, model) = settings.model(Role::React).unwrap();
    assert_eq!(model.base_url.as_deref(), Some("http://localhost:8000/v1/"));
    assert_eq!(model.model, "qwen3");

    let settings = read(&[("OPENAI_API_KEY", ""), ("ANTHROPIC_API_KEY", "sk-2")]).unwrap();
    let (_, model) = settings.model(Role::Summary).unwrap();
    assert_eq!(model.provider, Provider::ANTHROPIC);
    assert_eq!(model.model, "claude-sonnet-5");

    assert_eq!(read(&[]).unwrap().model(Role::React), None);
    assert_eq!(
        read(&[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "localhost")]),
        Err("OPENAI_BASE_URL must be a URL: relative URL without a base".to_owned())
    );
}

#[test]
fn everything_can_be_set() {
    let settings = read_json(&json!({
        "default": "main",
        "roles": {"react": "main", "summary": "small", "planner": "main"},
        "fallback": {"react": "small"},
        "models": {
            "main": {
                "provider": "anthropic", "model": "claude-sonnet-4-6", "base_url": "https://gate.example/anthropic/v1",
                "key": "secret:arn:aws:secretsmanager:eu-west-1:1:secret:x", "max_tokens": 1000,
                "max_input_tokens": 2000, "temperature": 0.5, "thinking": 2048,
                "function_call_type": "struct_parse", "images": false, "extra": {"top_k": 3},
                "first_byte_timeout_s": 1, "chunk_timeout_s": 2, "call_timeout_s": 3
            },
            "small": {"provider": "openai", "model": "gpt-4.1-mini", "key": "env:SOME_KEY"}
        }
    }));
    let settings = settings.unwrap();
    let key = "arn:aws:secretsmanager:eu-west-1:1:secret:x";
    let main = ModelSettings {
        provider: Provider::ANTHROPIC,
        model: "claude-sonnet-4-6".to_owned(),
        base_url: Some("https://gate.example/anthropic/v1/".to_owned()),
        key: ModelKey::Stored(key.to_owned()),
        max_tokens: 1000,
        max_input_tokens: 2000,
        temperature: Temperature::Fixed(0.5),
        thinking: Some(Thinking::Tokens(2048)),
        function_call_type: FunctionCallType::StructParse,
        sees_images: false,
        extra: json!({"top_k": 3}).as_object().unwrap().clone(),
        first_byte_timeout: Duration::from_secs(1),
        chunk_timeout: Duration::from_secs(2),
        call_timeout: Duration::from_secs(3),
    };
    assert_eq!(settings.model(Role::React), Some(("main", &main)));
    assert_eq!(settings.fallback(Role::React).unwrap().0, "small");
    let name = |role: &Role| Some((*role, settings.model(*role)?.0.to_owned()));
    let names = Role::ALL.iter().filter_map(name);
    assert_eq!(
        names.collect::<BTreeMap<_, _>>(),
        BTreeMap::from([
            (Role::React, "main".to_owned()),
            (Role::Summary, "small".to_owned()),
            (Role::Planner, "main".to_owned()),
            (Role::Executor, "main".to_owned()),
            // It has the summary's unless it is named.
            (Role::Compactor, "small".to_owned()),
            // It has the executor's.
            (Role::Employees, "main".to_owned()),
            (Role::Code, "main".to_owned()),
            (Role::Report, "main".to_owned()),
            (Role::Search, "main".to_owned()),
            (Role::Router, "main".to_owned()),
            (Role::Critic, "main".to_owned()),
            (Role::Data, "main".to_owned()),
            (Role::Analysis, "main".to_owned()),
        ])
    );
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let whole = |json: Value| read_json(&json).unwrap_err();
    let ok = json!({"provider": "openai", "model": "m", "key": "env:SOME_KEY"});
    assert_eq!(
        read(&[("DJINN_MODELS", "{")]).unwrap_err(),
        "DJINN_MODELS is not JSON: line 1, column 1"
    );
    assert_eq!(
        read(&[("DJINN_MODELS", "[]")]).unwrap_err(),
        "DJINN_MODELS must be an object, got `[]`"
    );
    assert_eq!(whole(json!({"models": {}})), "models must name at least one model");
    assert_eq!(
        whole(json!({"model": {}, "models": {"a": ok}})),
        "model is not a setting; there are default, roles, fallback, models"
    );
    assert_eq!(whole(json!({"default": "b", "models": {"a": ok}})), "default must be a, got `b`");
    assert_eq!(
        whole(json!({"models": {"a": ok, "b": ok}, "roles": {"react": "a"}})),
        "default is missing: there are several models, and the role summary has no model"
    );
    assert_eq!(
        whole(json!({"models": {"a": ok, "b": ok}, "roles": {"react": "c"}})),
        "roles.react must be one of a, b, got `c`"
    );
    assert_eq!(
        whole(json!({"models": {"a": ok}, "roles": {"judge": "a"}})),
        "roles.judge is not a role; there are react, summary, planner, executor, compactor, employees, report, search, code, data, analysis, router, critic, second"
    );
    assert_eq!(
        whole(json!({"models": {"a": ok}, "roles": {"react": 1}})),
        "roles.react must be a model's name, got `1`"
    );
    assert_eq!(whole(json!({"models": {"a": 1}})), "models.a must be an object, got `1`");
}

#[test]
fn a_fallback_is_another_model_of_every_role_or_of_those_that_are_named() {
    let ok = json!({"provider": "openai", "model": "m", "key": "env:SOME_KEY"});
    let read = |roles: Value, fallback: Value| {
        let models = json!({"a": ok, "b": ok, "c": ok});
        let json = json!({"default": "a", "roles": roles, "fallback": fallback, "models": models});
        read_json(&json)
    };
    let fallbacks = |roles: Value, fallback: Value| {
        let settings = read(roles, fallback).unwrap();
        let name = |role: &Role| settings.fallback(*role).map_or("-", |(name, _)| name).to_owned();
        Role::ALL.iter().map(name).collect::<Vec<_>>().join(" ")
    };
    // In the order react, summary, planner, executor, compactor, employees, report, search, code, data,
    // analysis, router, critic, second.
    assert_eq!(fallbacks(json!({}), json!({})), "- - - - - - - - - - - - - -");
    assert_eq!(fallbacks(json!({}), json!("b")), "b b b b b b b b b b b b b -");
    assert_eq!(fallbacks(json!({"planner": "b"}), json!("b")), "b b - b b b b b b b b b b -");
    let own = json!({"react": "b", "summary": "c", "executor": "b", "employees": "c"});
    assert_eq!(fallbacks(json!({}), own), "b c - b c c b b b b b b b -");
    assert_eq!(fallbacks(json!({"second": "b"}), json!("c")), "c c c c c c c c c c c c c c");
    assert_eq!(fallbacks(json!({"second": "b"}), json!("b")), "b b b b b b b b b b b b b -");
    // It would stand in for itself.
    let served = (json!({"compactor": "c"}), json!({"summary": "c"}));
    assert_eq!(fallbacks(served.0, served.1), "- c - - - - - - - - - - - -");

    let wrong = |roles: Value, fallback: Value| read(roles, fallback).unwrap_err();
    for (roles, fallback, problem) in [
        (json!({}), json!("d"), "fallback must be one of a, b, c, got `d`"),
        (
            json!({}),
            json!("a"),
            "fallback must be another model than the one it stands in for, got `a`",
        ),
        (
            json!({}),
            json!(["b"]),
            r#"fallback must be a model's name, or an object of roles, got `["b"]`"#,
        ),
        (json!({}), json!({"react": "d"}), "fallback.react must be one of a, b, c, got `d`"),
        (json!({}), json!({"react": null}), "fallback.react must be a model's name, got `null`"),
        (
            json!({"react": "b"}),
            json!({"react": "b"}),
            "fallback.react must be another model than the one it stands in for, got `b`",
        ),
        (
            json!({}),
            json!({"judge": "b"}),
            "fallback.judge is not a role; there are react, summary, planner, executor, compactor, \
             employees, report, search, code, data, analysis, router, critic, second",
        ),
    ] {
        assert_eq!(wrong(roles, fallback), problem);
    }
}

#[test]
fn what_is_wrong_with_a_model_is_said_with_its_place() {
    for (members, problem) in [
        (
            json!({"max_tokens": "many"}),
            "models.main.max_tokens must be a whole number, got `many`",
        ),
        (json!({"max_tokens": 1.5}), "models.main.max_tokens must be a whole number, got `1.5`"),
        (json!({"max_tokens": 0}), "models.main.max_tokens must be between 1 and 1000000, got `0`"),
        (
            json!({"max_input_tokens": 10}),
            "models.main.max_input_tokens must be between 1000 and 100000000, got `10`",
        ),
        (
            json!({"call_timeout_s": 901}),
            "models.main.call_timeout_s must be between 1 and 900, got `901`",
        ),
        (json!({"provider": "-"}), "models.main.provider is missing"),
        (json!({"model": "-"}), "models.main.model is missing"),
        (json!({"model": " "}), "models.main.model must be a text, got ` `"),
        (json!({"model": 4}), "models.main.model must be a text, got `4`"),
        (json!({"key": "-"}), "models.main.key is missing: openai needs one"),
        (json!({"key": "env:OTHER"}), "models.main.key names the variable OTHER, which is not set"),
        (
            json!({"provider": "bedrock"}),
            "models.main.key must not be set: bedrock uses the function's own role",
        ),
        (
            json!({"temperature": 3}),
            "models.main.temperature must be a number between 0 and 2, or null to send none, got `3`",
        ),
        (
            json!({"temperature": "hot"}),
            "models.main.temperature must be a number between 0 and 2, or null to send none, got `hot`",
        ),
        (
            json!({"thinking": "hard"}),
            "models.main.thinking must be off, low, medium or high for this provider, got `hard`",
        ),
        (
            json!({"thinking": 1024}),
            "models.main.thinking must be off, low, medium or high for this provider, got `1024`",
        ),
        (
            json!({"provider": "anthropic", "thinking": true}),
            "models.main.thinking must be off, low, medium, high or a number of tokens, got `true`",
        ),
        (
            json!({"function_call_type": "magic"}),
            "models.main.function_call_type must be function_call or struct_parse, got `magic`",
        ),
        (
            json!({"provider": "cohere"}),
            "models.main.function_call_type must be struct_parse: tools cannot be offered to cohere otherwise",
        ),
        (json!({"images": 1}), "models.main.images must be true or false, got `1`"),
        (json!({"extra": []}), "models.main.extra must be an object, got `[]`"),
        (json!({"extra": {"stream": false}}), "models.main.extra.stream must not be replaced"),
        (
            json!({"provider": "ollama", "extra": {"a": 1}}),
            "models.main.extra cannot be sent to ollama",
        ),
        (
            json!({"base_url": "ftp://a/"}),
            "models.main.base_url must start with https:// or http:// and name a host",
        ),
        (
            json!({"base_url": "https://user:pass@a/"}),
            "models.main.base_url must not contain a user or a password",
        ),
        (
            json!({"provider": "anthropic", "base_url": "https://a/?b=c"}),
            "models.main.base_url must not contain a query for this provider",
        ),
    ] {
        assert_eq!(one(&members).unwrap_err(), problem);
    }
    let unknown = one(&json!({"provider": "hal"})).unwrap_err();
    assert!(unknown.starts_with("models.main.provider must be one of openai, "), "{unknown}");
    assert!(unknown.contains(", anthropic,") && unknown.contains(", bedrock,"), "{unknown}");
    assert!(unknown.ends_with(", got `hal`"), "{unknown}");
    let unknown = one(&json!({"max_token": 1})).unwrap_err();
    assert!(
        unknown.starts_with("models.main.max_token is not a setting; there are provider, model,")
    );
}

#[test]
fn a_literal_key_is_refused_and_not_repeated() {
    for key in ["sk-live-123456789", "env:", "secret:", "vault:x"] {
        assert_eq!(
            one(&json!({"key": key})).unwrap_err(),
            "models.main.key must refer to the key, as `env:NAME` or `secret:NAME`, and must not be the key itself"
        );
    }
    let model = one(&json!({})).unwrap();
    assert!(!format!("{model:?}").contains("sk-some-key"), "{model:?}");
}

#[test]
fn a_key_may_be_missing_where_none_is_asked_for() {
    for members in [
        json!({"key": "-", "base_url": "http://localhost:8000/v1/"}),
        json!({"key": "-", "provider": "ollama"}),
        json!({"key": "-", "provider": "bedrock"}),
    ] {
        assert_eq!(one(&members).unwrap().key, ModelKey::None);
    }
}

#[test]
fn an_address_gets_its_one_form() {
    for (provider, given, expected) in [
        ("openai", "https://a.b", "https://a.b/"),
        ("openai", "https://a.b/v1", "https://a.b/v1/"),
        ("openai", "https://a.b/v1//", "https://a.b/v1/"),
        ("openai", "https://a.b/v1/chat/completions", "https://a.b/v1/"),
        ("openai", "https://a.b/v1/chat/completions/", "https://a.b/v1/"),
        (
            "openai",
            "https://a.b/deployments/d?api-version=1",
            "https://a.b/deployments/d/?api-version=1",
        ),
        ("openai", "HTTP://LOCALHOST:11434/v1#x", "http://localhost:11434/v1/"),
        ("anthropic", "https://a.b/v1/messages", "https://a.b/v1/"),
        ("ollama", "http://gpu:11434/api/chat", "http://gpu:11434/"),
    ] {
        let extra = json!({"provider": provider, "base_url": given});
        assert_eq!(one(&extra).unwrap().base_url.as_deref(), Some(expected), "{given}");
    }
}

#[test]
fn null_is_a_temperature_that_is_never_sent() {
    assert_eq!(one(&json!({"temperature": null})).unwrap().temperature, Temperature::Never);
    assert_eq!(one(&json!({})).unwrap().temperature, Temperature::Default);
    assert_eq!(one(&json!({"temperature": 1})).unwrap().temperature, Temperature::Fixed(1.0));
}

/// The rows are what is read, in docs/settings.md, and nothing else; their defaults are those of the code.
#[test]
fn every_member_that_is_read_has_a_row() {
    let known = |problem: String| -> Vec<String> {
        let (_, keys) = problem.split_once("there are ").unwrap();
        keys.split(", ").map(ToOwned::to_owned).collect()
    };
    let rows = |table: &SettingsTable| -> BTreeSet<String> {
        table.rows.iter().map(|row| row.name.to_owned()).collect()
    };
    let ok = json!({"provider": "openai", "model": "m", "key": "env:SOME_KEY"});
    let keys = known(read_json(&json!({"?": 1, "models": {"a": ok}})).unwrap_err());
    assert_eq!(BTreeSet::from_iter(keys), rows(&whole::TABLE));
    let keys = known(one(&json!({"?": 1})).unwrap_err());
    assert_eq!(BTreeSet::from_iter(keys), rows(&member::TABLE));

    let model = ModelSettings::new(Provider::OPENAI, "m");
    for (row, value) in [
        (&member::MAX_TOKENS, u64::from(model.max_tokens)),
        (&member::MAX_INPUT_TOKENS, model.max_input_tokens),
        (&member::FIRST_BYTE_TIMEOUT_S, model.first_byte_timeout.as_secs()),
        (&member::CHUNK_TIMEOUT_S, model.chunk_timeout.as_secs()),
        (&member::CALL_TIMEOUT_S, model.call_timeout.as_secs()),
    ] {
        assert_eq!(row.default, Some(value.to_string().as_str()), "{}", row.name);
    }
    let roles = Role::ALL.iter().map(|role| role.as_str());
    let missing: Vec<_> =
        roles.filter(|role| !whole::ROLES.meaning.contains(&format!("`{role}`"))).collect();
    assert!(missing.is_empty(), "docs/settings.md does not name the roles {missing:?}");
}

#[test]
fn every_configuration_of_the_page_about_models_is_taken() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let configurations: Vec<&str> = blocks.filter(|block| block.contains("\"models\"")).collect();
    assert!(
        configurations.len() >= 12,
        "{} of eleven providers and one for all",
        configurations.len()
    );
    for block in configurations {
        let settings = Settings::from_vars(|name| match name {
            "DJINN_MODELS" => Some(block.to_owned()),
            name if name.starts_with("DJINN_") => None,
            _ => Some("sk-some-key".to_owned()),
        });
        assert!(settings.is_ok_and(|settings| settings != Settings::default()), "{block}");
    }
}
