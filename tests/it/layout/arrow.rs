//! Which crate may depend on which. Only normal dependencies count.

use std::process::Command;

use serde_json::Value;

use super::source::root;
use super::{none, one};

/// By crate, in the order of the layers: which of ours it may depend on. `functions/*` stands for
/// each function but `database`.
const ARROWS: [(&str, &[&str]); 28] = [
    ("crc-fast", &[]),
    ("djinn-inflate", &[]),
    ("djinn-messages", &[]),
    ("djinn-text", &[]),
    ("djinn-schema", &["djinn-text"]),
    ("djinn-settings", &["djinn-text"]),
    ("djinn-egress", &["djinn-inflate"]),
    ("djinn-mcp", &["djinn-egress"]),
    ("djinn-core", &["djinn-messages", "djinn-text"]),
    ("djinn-agents", &["djinn-core", "djinn-text"]),
    ("djinn-outside", &["djinn-core", "djinn-schema", "djinn-settings", "djinn-text"]),
    ("djinn-protocol", &["djinn-core", "djinn-messages", "djinn-text"]),
    (
        "djinn-runtime",
        &[
            "djinn-agents",
            "djinn-core",
            "djinn-inflate",
            "djinn-messages",
            "djinn-outside",
            "djinn-protocol",
            "djinn-settings",
            "djinn-text",
        ],
    ),
    ("djinn-aws", &["djinn-agents", "djinn-core", "djinn-runtime", "djinn-settings"]),
    ("djinn-postgres", &["djinn-agents", "djinn-core", "djinn-runtime"]),
    ("djinn-model", &["djinn-core", "djinn-runtime", "djinn-settings"]),
    (
        "djinn-tools",
        &[
            "djinn-agents",
            "djinn-core",
            "djinn-messages",
            "djinn-outside",
            "djinn-runtime",
            "djinn-schema",
            "djinn-settings",
            "djinn-text",
        ],
    ),
    (
        "djinn-wiring",
        &[
            "djinn-aws",
            "djinn-core",
            "djinn-model",
            "djinn-outside",
            "djinn-runtime",
            "djinn-schema",
            "djinn-settings",
            "djinn-tools",
        ],
    ),
    (
        "functions/*",
        &[
            "djinn-aws",
            "djinn-core",
            "djinn-egress",
            "djinn-mcp",
            "djinn-messages",
            "djinn-model",
            "djinn-outside",
            "djinn-protocol",
            "djinn-runtime",
            "djinn-schema",
            "djinn-settings",
            "djinn-text",
            "djinn-tools",
            "djinn-wiring",
        ],
    ),
    // The one function over the client of PostgreSQL, which would add to the start of the others.
    ("database", &["djinn-aws", "djinn-postgres", "djinn-runtime"]),
    ("own-tool", &["djinn-tools", "djinn-wiring", "functions/*"]),
    ("djinn-scripted", &[]),
    (
        "djinn-local",
        &[
            "djinn-aws",
            "djinn-core",
            "djinn-model",
            "djinn-outside",
            "djinn-postgres",
            "djinn-runtime",
            "djinn-scripted",
            "djinn-settings",
            "djinn-tools",
            "djinn-wiring",
            "functions/*",
        ],
    ),
    (
        "djinn-testkit",
        &[
            "djinn-aws",
            "djinn-core",
            "djinn-local",
            "djinn-model",
            "djinn-protocol",
            "djinn-runtime",
            "djinn-scripted",
            "djinn-settings",
            "djinn-text",
            "djinn-tools",
            "djinn-wiring",
            "functions/*",
        ],
    ),
    (
        "djinn-bench",
        &[
            "djinn-agents",
            "djinn-aws",
            "djinn-core",
            "djinn-local",
            "djinn-runtime",
            "djinn-scripted",
            "djinn-settings",
            "djinn-wiring",
            "functions/*",
        ],
    ),
    ("djinn-docs", &["djinn-core", "djinn-messages", "djinn-protocol", "djinn-settings"]),
    ("djinn-tests", &[]),
    (
        "xtask",
        &[
            "djinn-core",
            "djinn-local",
            "djinn-outside",
            "djinn-scripted",
            "djinn-schema",
            "djinn-settings",
            "djinn-text",
            "djinn-tools",
            "functions/*",
        ],
    ),
];

/// The crates that are pure, and all libraries that each may depend on.
const PURE: [(&str, &[&str]); 8] = [
    (
        "djinn-schema",
        &["jsonschema", "percent-encoding", "serde", "serde_json", "sha2", "thiserror"],
    ),
    ("djinn-settings", &["serde_json", "thiserror", "toml"]),
    ("djinn-inflate", &["crc32fast", "miniz_oxide"]),
    ("djinn-messages", &["serde"]),
    (
        "djinn-text",
        &[
            "aho-corasick",
            "icu_normalizer",
            "icu_properties",
            "serde",
            "serde_json",
            "strsim",
            "thiserror",
        ],
    ),
    (
        "djinn-outside",
        &["base64", "percent-encoding", "serde", "serde_json", "thiserror", "toml", "url"],
    ),
    (
        "djinn-core",
        // The rules of time zones; it reads no file.
        &["icu_normalizer", "jiff-core", "schemars", "serde", "serde_json", "sha2", "thiserror"],
    ),
    ("djinn-protocol", &["schemars", "serde", "serde_json", "thiserror"]),
];

/// Libraries that one crate alone may depend on: the beginnings of their names.
const VENDORS: [(&str, &str); 4] = [
    ("aws-config", "djinn-aws"),
    ("aws-sdk-", "djinn-aws"),
    ("aws-smithy-", "djinn-aws"),
    ("genai", "djinn-model"),
];

#[test]
fn arrows_point_downwards() {
    let metadata = metadata();
    assert!(metadata["packages"].as_array().unwrap().len() >= ARROWS.len() - 1);
    none(wrong(&metadata));
}

/// cargo only warns of a patch that it does not use.
#[test]
fn the_crate_that_stands_in_for_another_is_the_one_in_use() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let packages =
        lock.split("[[package]]").filter(|text| text.contains("\nname = \"crc-fast\"\n"));
    let packages: Vec<_> = packages.collect();
    assert!(matches!(packages[..], [ours] if !ours.contains("\nsource = ")), "{packages:?}");
}

fn metadata() -> Value {
    let arguments = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let output = Command::new(env!("CARGO")).current_dir(root()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A crate as the arrows know it.
fn known(name: &str, manifest: &str) -> String {
    let is_function = manifest.contains("/functions/") && name != "database";
    if is_function { "functions/*".to_owned() } else { name.to_owned() }
}

fn wrong(metadata: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let place = known(name, package["manifest_path"].as_str().unwrap());
        let Some((_, below)) = ARROWS.iter().find(|(from, _)| *from == place) else {
            complaints.push(format!(
                "{name} has no place among the layers: give it one in ARCHITECTURE.md and in \
                 tests/it/layout/arrow.rs"
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().unwrap() {
            if dependency["kind"].is_null() {
                complaints
                    .extend(refused(&place, below, dependency).map(|why| format!("{name} {why}")));
            }
        }
    }
    complaints
}

fn refused(from: &str, below: &[&str], dependency: &Value) -> Option<String> {
    let to = dependency["name"].as_str().unwrap();
    if let Some(path) = dependency["path"].as_str() {
        let place = known(to, &format!("{path}/"));
        let allowed = below.contains(&place.as_str());
        let may = if below.is_empty() { "none of ours".to_owned() } else { below.join(", ") };
        return (!allowed).then(|| format!("depends on {to}, but may depend on {may} only"));
    }
    let pure = PURE.iter().find(|(name, libraries)| *name == from && !libraries.contains(&to));
    if let Some((_, libraries)) = pure {
        let may = libraries.join(", ");
        return Some(format!("depends on {to}: it is pure and has {may} only"));
    }
    let vendor = VENDORS.iter().find(|(library, _)| to.starts_with(library));
    let (_, home) = vendor.filter(|(_, home)| *home != from)?;
    Some(format!("depends on {to}, which only {home} may: go through a port of djinn-runtime"))
}

#[test]
fn an_arrow_that_points_up_is_noticed() {
    let package = |name: &str, kind: &Value, to: &str, path: Option<&str>| {
        let dependency = serde_json::json!({"name": to, "kind": kind, "path": path});
        let manifest = match name {
            "agent" => "/w/functions/agent/Cargo.toml".to_owned(),
            _ => format!("/w/shared/{name}/Cargo.toml"),
        };
        let package = serde_json::json!({"name": name, "manifest_path": manifest, "dependencies": [dependency]});
        wrong(&serde_json::json!({"packages": [package]}))
    };
    let normal = Value::Null;
    let ours = Some("/w/shared/x");
    none(package("agent", &normal, "djinn-wiring", ours));
    none(package("djinn-core", &"dev".into(), "djinn-testkit", ours));
    one(package("djinn-core", &normal, "djinn-runtime", ours), "djinn-messages, djinn-text only");
    one(
        package("djinn-tools", &normal, "djinn-aws", ours),
        "djinn-tools depends on djinn-aws, but",
    );
    let function = Some("/w/functions/executor");
    one(package("agent", &normal, "executor", function), "agent depends on executor, but");
    none(package("djinn-local", &normal, "executor", function));
    one(package("djinn-testkit", &normal, "xtask", Some("/w/xtask")), "depends on xtask");
    one(package("djinn-core", &normal, "rand", None), "it is pure");
    one(package("djinn-tools", &normal, "aws-sdk-s3", None), "which only djinn-aws may");
    one(package("djinn-new", &normal, "djinn-core", ours), "no place among the layers");
}
