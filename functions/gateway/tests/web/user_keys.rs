//! Keys of single users: sealed for one origin, and sent to no other.

use djinn_core::id::{KeyName, UserId};
use djinn_outside::ToolProblemCode;
use djinn_runtime::port::UserKey;
use djinn_runtime::port::outside::{
    Outside, OutsideError, SealJob, StoredUserKey, ToolAnswer, ToolJob,
};
use djinn_runtime::port::secret::Secret;
use serde_json::json;
use std::sync::LazyLock;

use crate::context;
use crate::site::{Site, answer, redirect};
use crate::tools::{LOG, ToolGateway, problem, text};

const CANARY: &str = "canary-of-ann-89";

/// Secrets of two moments.
const OLD: &str = "old-secret-of-at-least-thirty-two-bytes";
const BOTH: &str =
    "new-secret-of-at-least-thirty-two-bytes,old-secret-of-at-least-thirty-two-bytes";
const NEW: &str = "new-secret-of-at-least-thirty-two-bytes";

/// A tool that sends the caller's key here.
fn crm(url: &str) -> String {
    format!(
        "description = \"Reads.\"\ntrust = \"all\"\neffect = \"read\"\n[request]\nmethod = \"GET\"\n\
         url = \"{url}\"\nheaders.authorization = \"Bearer {{user_key:CRM}}\"\n"
    )
}

fn user(user: &str) -> UserKey {
    let owner = context().key_owner();
    UserKey { user: UserId::new(user).unwrap(), ..owner }
}

async fn seal(tools: &ToolGateway, owner: &UserKey, origin: &str) -> Result<String, OutsideError> {
    let name = KeyName::new("CRM").unwrap();
    let (owner, origin) = (owner.clone(), origin.to_owned());
    let job = SealJob { owner, name, origin, value: Secret::new(CANARY) };
    tools.gateway.seal_key(job).await
}

async fn call(tools: &ToolGateway, definition: &str, owner: UserKey, sealed: &str) -> ToolAnswer {
    let job = ToolJob {
        tool: "crm".to_owned(),
        definition: definition.to_owned(),
        arguments: json!({}),
        idempotency_key: "run_1.t1.c1".to_owned(),
        user_key: Some(StoredUserKey { owner, sealed: sealed.to_owned() }),
    };
    tools.gateway.call_tool(&context(), job).await.unwrap()
}

#[tokio::test]
async fn a_sealed_key_reaches_its_origin_and_no_other() {
    let site = Site::start(|request| match request.target.as_str() {
        "/away" => redirect("http://127.0.0.1:9/"),
        "/no" => answer(403, "text/plain", format!("not {}", request.headers["authorization"])),
        _ => answer(200, "text/plain", format!("hello {}", request.headers["authorization"])),
    })
    .await;
    let other = Site::start(|_| answer(200, "text/plain", "mine now")).await;
    LazyLock::force(&LOG);
    let tools = ToolGateway::start(&[&site, &other]);
    tools.keys.set("seal", OLD);
    let ann = user("ann");
    let sealed = seal(&tools, &ann, &site.origin()).await.unwrap();
    assert!(!sealed.contains(CANARY));
    let definition = tools.write("crm", &crm(&site.url("/read")));
    let result = call(&tools, &definition, ann.clone(), &sealed).await;
    assert_eq!(text(&result), "hello Bearer ***");
    let [request] = &site.requests()[..] else { panic!("{:?}", site.requests()) };
    assert_eq!(request.headers["authorization"], format!("Bearer {CANARY}"));

    // Nobody else's call opens it, and neither does a job without a key.
    let result = call(&tools, &definition, user("bob"), &sealed).await;
    assert_eq!(problem(&result).code, ToolProblemCode::UserKeyMissing);
    let result = call(&tools, &definition, ann.clone(), "AQ==").await;
    assert_eq!(problem(&result).code, ToolProblemCode::UserKeyMissing);
    assert_eq!(site.requests().len(), 1);

    let definition = tools.write("crm", &crm(&site.url("/no")));
    let result = call(&tools, &definition, ann.clone(), &sealed).await;
    assert_eq!(problem(&result).code, ToolProblemCode::UserKeyRejected);
    assert!(!format!("{result:?}").contains(CANARY), "{result:?}");
    let definition = tools.write("crm", &crm(&site.url("/away")));
    let result = call(&tools, &definition, ann.clone(), &sealed).await;
    assert_eq!(problem(&result).code, ToolProblemCode::Redirect);

    // A file that now names another server receives no key of the first.
    let definition = tools.write("crm", &crm(&other.url("/read")));
    let result = call(&tools, &definition, ann, &sealed).await;
    assert_eq!(problem(&result).code, ToolProblemCode::UserKeyMissing);
    assert!(other.requests().is_empty());
    let log = LOG.text();
    assert!(log.contains("the call of a tool failed") && !log.contains(CANARY), "{log}");
}

#[tokio::test]
async fn secrets_are_rotated_while_the_process_runs() {
    let site = Site::start(|_| answer(200, "text/plain", "hello")).await;
    let tools = ToolGateway::start(&[&site]);
    let ann = user("ann");
    let missing = seal(&tools, &ann, &site.origin()).await;
    assert_eq!(missing, Err(OutsideError::Disabled("there is no `seal`".to_owned())));
    tools.keys.set("seal", OLD);
    let definition = tools.write("crm", &crm(&site.url("/read")));
    let old = seal(&tools, &ann, &site.origin()).await.unwrap();
    tools.keys.set("seal", BOTH);
    let new = seal(&tools, &ann, &site.origin()).await.unwrap();
    for sealed in [&old, &new] {
        assert_eq!(text(&call(&tools, &definition, ann.clone(), sealed).await), "hello");
    }
    // Another process sealed with the newer secret: it is read on first use.
    tools.keys.set("seal", OLD);
    let older = seal(&tools, &ann, &site.origin()).await.unwrap();
    tools.keys.set("seal", NEW);
    assert_eq!(text(&call(&tools, &definition, ann.clone(), &older).await), "hello");
    assert_eq!(text(&call(&tools, &definition, ann.clone(), &new).await), "hello");
    let result = call(&tools, &definition, ann, &old).await;
    assert_eq!(problem(&result).code, ToolProblemCode::UserKeyMissing);
}
