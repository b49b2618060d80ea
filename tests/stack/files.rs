//! Upload and download by presigned URLs.

use reqwest::Method;

use crate::story::Story;

/// More than a function's request or buffered response may have.
const MEGABYTES: usize = 9;

#[tokio::test]
#[ignore = "needs the stack: cargo verify --only stack"]
async fn large_file_is_uploaded_and_downloaded_by_presigned_urls() {
    let story = Story::open("upload and download by presigned URL").await;
    let line = "0123456789abcde\n";
    let content = line.repeat(MEGABYTES * 1024 * 1024 / line.len());
    let upload = story.announce_file("large.txt", content.len()).await;
    let (url, headers) = (upload["url"].as_str().unwrap(), &upload["headers"]);
    let forged = |url: &str| url.replace("X-Amz-Signature=", "X-Amz-Signature=0");
    assert_eq!(story.put(&forged(url), headers, content.clone()).await, 403, "another signature");
    assert_eq!(story.put(url, headers, content[1..].to_owned()).await, 403, "another size");
    assert_eq!(story.list_files().await, [""; 0]);
    assert_eq!(story.put(url, headers, content.clone()).await, 200);
    assert_eq!(story.put(url, headers, content.clone()).await, 412, "a second time");
    assert_eq!(story.list_files().await, ["large.txt"]);

    let path = format!("/v1/file_tool/download/{}/large.txt", story.session);
    let redirect = story.user.request(Method::GET, &path);
    let redirect = redirect.send().await.unwrap();
    assert_eq!(redirect.status(), 302, "the bytes do not pass the function");
    let location = redirect.headers()["location"].to_str().unwrap().to_owned();
    let read = async |url: &str| story.anyone.http.get(url).send().await.unwrap();
    assert!(read(&location).await.text().await.unwrap() == content, "the same bytes");
    assert_eq!(read(&forged(&location)).await.status(), 403);
    let (place, _) = location.split_once('?').unwrap();
    assert_eq!(read(place).await.status(), 403, "the bucket is not public");
    story.close();
}
