//! What SAM makes of `template.yaml`, as `cargo xtask template` wrote it.

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Mutex};

use djinn_wiring::Variables;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::layout::{files_below, root};

/// The CloudFormation template; it is as new as `template.yaml`.
pub(crate) fn transformed() -> Value {
    let remedy = "run `cargo xtask template`";
    let path = root().join("target/template.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("target/template.json cannot be read ({error}): {remedy}");
    });
    let template: Value = serde_json::from_str(&text).unwrap();
    let source = Sha256::digest(fs::read(root().join("template.yaml")).unwrap());
    let hex: String = source.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(template["Metadata"]["Source"], hex.as_str(), "template.yaml changed: {remedy}");
    template
}

#[test]
fn the_drivers_and_the_stores_are_in_the_template() {
    let template = transformed();
    for (name, kind) in [
        ("Agent", "AWS::Lambda::Function"),
        ("Executor", "AWS::Lambda::Function"),
        ("Table", "AWS::DynamoDB::Table"),
        ("Bucket", "AWS::S3::Bucket"),
    ] {
        assert_eq!(template["Resources"][name]["Type"], kind, "{name}");
    }
}

/// What a deployment may be told, so that all else of it is looked up too.
fn deployed(name: &str) -> Option<String> {
    let value = match name {
        "DJINN_TABLE" | "DJINN_BUCKET" | "DJINN_SCHEDULE_GROUP" => "djinn",
        "DJINN_EXECUTOR" => "arn:aws:lambda:eu-west-1:123456789012:function:djinn-executor",
        "DJINN_SCHEDULE_ROLE_ARN" => "arn:aws:iam::123456789012:role/djinn",
        "DJINN_SAFETY__CONTENT_CHECKER" => "https://checker.example.org",
        "DJINN_SAFETY__CONTENT_CHECKER_KEY" => "secret:djinn/checker",
        _ => return None,
    };
    Some(value.to_owned())
}

#[tokio::test]
async fn the_executor_is_told_what_it_reads_and_nothing_else() {
    let template = transformed();
    let told = |name: &str| -> BTreeSet<String> {
        let function = &template["Resources"][name]["Properties"];
        function["Environment"]["Variables"].as_object().unwrap().keys().cloned().collect()
    };
    let read = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&read);
    let variables: Variables = Arc::new(move |name| {
        seen.lock().unwrap().insert(name.to_owned());
        deployed(name)
    });
    drop(djinn_wiring::build_lambda_world(&djinn_wiring::Djinn::new(), &variables).unwrap());
    let read = read.lock().unwrap().clone();
    let (agent, executor) = (told("Agent"), told("Executor"));
    let unread: Vec<_> = executor.difference(&read).collect();
    assert!(unread.is_empty(), "the executor does not read {unread:?}");
    for kept in ["DJINN_LINK_KEY", "DJINN_API_KEYS", "DJINN_JWT_ISSUER", "DJINN_AUTH"] {
        assert!(agent.contains(kept) && !executor.contains(kept), "{kept}");
    }
}

#[test]
fn an_invocation_of_the_executor_waits_until_the_next_alarm_and_no_longer() {
    let config = &transformed()["Resources"]["ExecutorEventInvokeConfig"]["Properties"];
    assert_eq!(config["MaximumEventAgeInSeconds"], djinn_local::ALARM_EVERY.as_secs());
}

#[test]
fn the_functions_may_do_what_the_ports_say_they_need() {
    let template = transformed();
    let granted: BTreeSet<_> = ["RunPolicy", "SecretPolicy"]
        .into_iter()
        .flat_map(|policy| {
            let document = &template["Resources"][policy]["Properties"]["PolicyDocument"];
            document["Statement"].as_array().unwrap().iter().flat_map(actions)
        })
        .collect();
    let ports = files_below("shared/runtime/src/port").into_iter();
    let needed: BTreeSet<_> =
        ports.flat_map(|path| needs(&fs::read_to_string(root().join(path)).unwrap())).collect();
    let wrong: Vec<_> = granted.symmetric_difference(&needed).collect();
    assert!(
        wrong.is_empty(),
        "only template.yaml or only the documentation of a port (`Needs …`) has {wrong:?}: let \
         both say what shared/aws asks for"
    );
}

/// What functions write, users may have written; what they read below `config/` must not be.
#[test]
fn nothing_below_config_is_written_by_a_function() {
    let template = transformed();
    let document = &template["Resources"]["RunPolicy"]["Properties"]["PolicyDocument"];
    let statements = document["Statement"].as_array().unwrap();
    let on_objects = |action: &str| -> BTreeSet<String> {
        let granted = statements
            .iter()
            .filter(|statement| actions(statement).iter().any(|granted| granted == action));
        let resources = granted.flat_map(|statement| match &statement["Resource"] {
            Value::Array(resources) => resources.clone(),
            resource => vec![resource.clone()],
        });
        resources.map(|resource| resource["Fn::Sub"].as_str().unwrap().to_owned()).collect()
    };
    let own = "${Bucket.Arn}/config/*".to_owned();
    let mut read = on_objects("s3:GetObject");
    assert!(read.remove(&own), "{read:?}");
    for action in ["s3:PutObject", "s3:DeleteObject"] {
        assert_eq!(on_objects(action), read, "{action}");
    }
    let expected = ["files", "runs", "sandbox", "uploads"];
    let expected = expected.map(|kind| format!("${{Bucket.Arn}}/tenants/*/{kind}/*"));
    assert_eq!(read.into_iter().collect::<Vec<_>>(), expected);
}

fn actions(statement: &Value) -> Vec<String> {
    let text = |action: &Value| action.as_str().unwrap().to_owned();
    match &statement["Action"] {
        Value::Array(actions) => actions.iter().map(text).collect(),
        action => vec![text(action)],
    }
}

/// The actions in documentation such as "Needs `s3:GetObject`, `PutObject` on the bucket."
fn needs(source: &str) -> Vec<String> {
    let lines = source.lines().filter_map(|line| line.trim().strip_prefix("///"));
    let documentation: String = lines.collect();
    let mut found = Vec::new();
    for sentence in documentation.split("Needs ").skip(1) {
        let sentence = sentence.split(". ").next().unwrap_or(sentence);
        let mut service = "";
        for word in sentence.split('`').skip(1).step_by(2) {
            match word.split_once(':') {
                Some((prefix, action)) => {
                    service = prefix;
                    found.push(format!("{prefix}:{action}"));
                }
                None if word.starts_with(char::is_uppercase) => {
                    found.push(format!("{service}:{word}"));
                }
                None => {}
            }
        }
    }
    found
}

#[test]
fn needs_are_read_from_documentation() {
    let source = "/// Files. Needs `s3:GetObject`, `PutObject` under `files/`, and\n    /// \
                  `iam:PassRole` on a role. Not `This`.\npub trait Files {}\n";
    assert_eq!(needs(source), ["s3:GetObject", "s3:PutObject", "iam:PassRole"]);
    assert_eq!(needs("/// Clocks.\n"), [""; 0]);
}
