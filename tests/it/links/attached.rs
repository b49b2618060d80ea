//! Links to files as what comes with a question: each stands for the file of its name, in its own session, until
//! it ends.

use agent::FileGrant;

use super::files::{deployed, granted_file, granting};
use super::*;

#[tokio::test]
async fn a_signed_link_names_the_file_that_comes_with_a_question() {
    let model = ScriptedModel::start().await.unwrap();
    model.on("What?").reply("Read.");
    let (_door, anna, _) = deployed(Some(&model)).await;
    let place = anna.upload("s1", "sales 1.csv", SALES).await.json();
    let link = place["domainUrl"].as_str().unwrap();
    let expired = FileGrant { expires_at_ms: 1_000, ..granted_file(link) };
    let other =
        FileGrant { name: "other.csv".to_owned().try_into().unwrap(), ..granted_file(link) };
    let forged = format!("{}x/sales%201.csv", link.rsplit_once('/').unwrap().0);
    let body = |session: &str, uri: &str| {
        let mut body = Protocol::Native.body(&Question::of("What?", session));
        body["attachments"] = json!([{"uri": uri}]);
        body
    };
    for (session, uri, words) in [
        ("s2", link.to_owned(), "another session"),
        ("s1", granting(link, &expired), "expired link"),
        ("s1", granting(link, &other), "upload the file first"),
        ("s1", forged, "upload the file first"),
    ] {
        let answer = anna.post("/runs", &body(session, &uri)).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert!(answer.text.contains(words), "{}", answer.text);
        assert!(!answer.text.contains(&uri), "{}", answer.text);
    }
    // Clients may encode letters of the name that need it not.
    let encoded = link.replace("/sales%20", "/%73ales%20");
    let request = anna.request(Method::POST, "/runs").json(&body("s1", &encoded));
    let frames = anna.ask_with(request).await.rest().await;
    assert_eq!(frames.last().unwrap().json()["answer"], "Read.");
    let request = model.last_request().unwrap();
    let asked = &request.messages()[0].text;
    assert!(asked.contains("sales 1.csv"), "{asked}");
}
