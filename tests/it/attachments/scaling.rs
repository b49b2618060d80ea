//! Images that are made small enough in the sandbox.

use djinn_local::System;

use super::*;
use crate::world::Scaled;

/// Asks with these images, and says what the model was told and shown of them.
async fn ask_about(world: &World, names: &[&str]) -> (String, Vec<Vec<u8>>) {
    world.model.on(SEES).reply("Cats.");
    let images: Vec<Value> = names.iter().map(|name| attached_image(name)).collect();
    let more = json!({"attachments": images});
    let stream = ask(world, Protocol::Native, &Question::of(SEES, "s1"), &more).await;
    assert_eq!(stream.rest().await.last().unwrap().json()["answer"], "Cats.");
    let request = world.model.last_request().unwrap();
    (request.text().to_owned(), shown(&request))
}

#[tokio::test]
async fn a_large_image_is_shown_as_a_smaller_copy_and_stays_what_it_is() {
    let small = image("small");
    let scaler = Scaler::of([("cat.png", Scaled::To(small.clone())), ("dog.png", Scaled::Kept)]);
    let jobs = scaler.jobs.clone();
    let world = seeing(&[], Some(scaler)).await;
    let (text, images) = ask_about(&world, &["cat.png", "dog.png"]).await;
    assert_eq!(images, [small, image("dog.png")]);
    assert!(text.contains("cat.png, dog.png") && !text.contains("smaller-"), "{text}");
    assert_eq!(content(&world, "s1", "cat.png").await, image("cat.png"));
    let jobs = jobs.lock().unwrap();
    let sent: Vec<&[u8]> = jobs[0].files.iter().map(|file| file.content.as_slice()).collect();
    assert_eq!((jobs.len(), sent), (1, vec![image("cat.png").as_slice(), &image("dog.png")]));
}

#[tokio::test]
async fn what_the_sandbox_cannot_make_ready_is_named_and_loses_no_question() {
    let broken = Scaler::of([
        ("cat.png", Scaled::Not("broken")),
        ("dog.png", Scaled::To(b"<html>".to_vec())),
        ("cow.png", Scaled::Kept),
    ]);
    let world = seeing(&[], Some(broken)).await;
    let (text, images) = ask_about(&world, &["cat.png", "dog.png", "cow.png"]).await;
    assert_eq!(images, [image("cow.png")]);
    assert!(text.contains("you are not shown them") && text.contains("cat.png, dog.png"), "{text}");

    let away = Scaler { fails: true, ..Scaler::default() };
    let world = seeing(&[], Some(away)).await;
    let (text, images) = ask_about(&world, &["cat.png"]).await;
    assert!(images.is_empty() && text.contains("you are not shown them"), "{text}");
}

/// A PNG of 8 × 8 pixels.
const SMALL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGMQaPiAFTEMLQkASvNgAc1fRCsAAAAASUVORK5CYII=";

#[tokio::test]
async fn small_image_is_shown_as_it_is_though_the_sandbox_is_away() {
    let away = Scaler { fails: true, ..Scaler::default() };
    let jobs = away.jobs.clone();
    let world = seeing(&[], Some(away)).await;
    world.model.on(SEES).reply("Cats.");
    let small = STANDARD.decode(SMALL).unwrap();
    let more =
        json!({"attachments": [{"uri": data_uri("image/png", &small), "name": "small.png"}]});
    ask(&world, Protocol::Native, &Question::of(SEES, "s1"), &more).await.rest().await;
    let request = world.model.last_request().unwrap();
    assert_eq!(shown(&request), [small]);
    assert!(jobs.lock().unwrap().is_empty() && !request.text().contains("you are not shown them"));
}

#[tokio::test]
async fn long_screenshot_is_shown_in_parts() {
    let parts = ["top", "middle", "bottom"].map(image).to_vec();
    let scaler = Scaler::of([("long.png", Scaled::Parts(parts.clone()))]);
    let world = seeing(&[], Some(scaler)).await;
    let (text, images) = ask_about(&world, &["long.png", "cat.png"]).await;
    assert_eq!(images, [parts, vec![image("cat.png")]].concat());
    let named = "long.png [1 of 3], long.png [2 of 3], long.png [3 of 3], cat.png";
    assert!(text.contains(named), "{text}");
}

#[tokio::test]
async fn images_that_no_model_can_be_shown_are_named() {
    let world = seeing(&[], Some(Scaler::default())).await;
    world.model.on(SEES).reply("Cats.");
    let file = |name: &str| json!({"uri": data_uri("image/heic", b"any"), "name": name});
    let more = json!({"attachments": [file("photo.HEIC"), file("logo.svg"), file("a.csv")]});
    ask(&world, Protocol::Native, &Question::of(SEES, "s1"), &more).await.rest().await;
    let text = world.model.last_request().unwrap().text().to_owned();
    let (_, unseen) = text.split_once("you are not shown them").unwrap();
    let named = unseen.contains("photo.HEIC, logo.svg") && !unseen.contains("a.csv");
    assert!(named, "{text}");
}

#[tokio::test]
async fn without_a_sandbox_images_up_to_five_megabytes_are_shown_as_they_are() {
    let world = seeing(&[], None).await;
    world.model.on(SEES).reply("Cats.");
    let mut large = image("large");
    large.resize(5 * 1024 * 1024 + 1, 0);
    write(&world.system, "large.png", &large).await;
    large.pop();
    write(&world.system, "fits.png", &large).await;
    let more = json!({"attachments": [{"uri": "large.png"}, {"uri": "fits.png"}]});
    ask(&world, Protocol::Native, &Question::of(SEES, "s1"), &more).await.rest().await;
    let request = world.model.last_request().unwrap();
    assert_eq!(shown(&request), [large]);
    assert!(request.text().contains("you are not shown them"), "{}", request.text());
}

/// Writes a file that is too large for a request.
async fn write(system: &System, name: &str, bytes: &[u8]) {
    use djinn_core::id::{FileName, SessionId, TenantId, UserId};
    use djinn_runtime::port::SessionKey;
    use djinn_runtime::port::file::{Files as _, NewFile};

    let session = SessionKey {
        tenant: TenantId::new("local").unwrap(),
        owner: UserId::new("you").unwrap(),
        session: SessionId::new("s1").unwrap(),
    };
    let file = NewFile {
        name: FileName::new(name).unwrap(),
        description: String::new(),
        internal: false,
        media_type: "image/png".to_owned(),
        uploaded: false,
        writer: session.owner.clone(),
    };
    system.ports().store.write_file(&session, &file, bytes).await.unwrap();
}
