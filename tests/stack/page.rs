//! The web page at the stack's own URL.

use crate::story::Story;

#[tokio::test]
#[ignore = "needs the stack: cargo verify --only stack"]
async fn page_is_at_the_url_for_everybody_and_asks_how_to_sign_in() {
    let story = Story::open("the web page").await;
    let index = story.anyone.get("/").await;
    assert_eq!((index.status, index.text.trim()), (200, "<!doctype html><title>Djinn</title>"));
    assert_eq!(index.header("x-content-type-options"), "nosniff");
    let policy = index.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{policy}");
    let bucket = policy.split("; ").find(|rule| rule.starts_with("connect-src ")).unwrap();
    assert!(bucket.contains(".amazonaws.com"), "files come from the bucket: {policy}");
    let config = story.anyone.get("/web/config").await.json();
    assert_eq!(config["sign_in"], "key");
    assert_eq!(config["has_demo_model"], false);
    assert_eq!(story.anyone.get("/runs").await.status, 401);
    assert_eq!(story.user.get("/runs").await.status, 200);
    story.close();
}
