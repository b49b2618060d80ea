//! Two tenants, and two users of one: every route with every kind of id of the other one, while a run
//! is at work and after its end. What is another's is answered as what does not exist, byte for byte.

pub(crate) mod routes;

use djinn_core::id::sha256_hex;
use djinn_scripted::ScriptedModel;
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

use crate::keys::{keyed, let_in};
use crate::links::files::unsigned;
use crate::links::link_settings;
use crate::world::{
    Answer, Client, Door, Issuer, Parts, Protocol, Question, SigningKey, Stream, operations,
};
use routes::{Case, ROUTES, Sent};

/// In every word that is the owner's.
const CANARY: &str = "canary";

/// Where objects of the owner's tenant lie, and what links to its files hold.
const TENANT: &[&str] = &["/acme/", "/acme:"];

/// Ids of one length: the owner's, and one that nobody has.
struct Ids {
    kind: &'static str,
    foreign: String,
    unknown: String,
}

/// Whether the owner's last run is at work while others look.
#[derive(Clone, Copy, PartialEq)]
enum When {
    AtWork,
    Ended,
}

/// What the owner has, and an intruder: of another tenant and with the same name, or of the same one.
struct Users {
    model: ScriptedModel,
    owner: Client,
    intruder: Client,
    ids: Vec<Ids>,
    /// A run of the intruder's own.
    own: String,
    /// Stand in the keys of the owner's objects and in links to them, and in none of the intruder's.
    places: Vec<String>,
    _at_work: Option<Stream>,
    _door: Door,
}

impl Users {
    /// `let_in` knows the two by their keys or tokens.
    async fn start(
        let_in: impl FnOnce(&mut Parts),
        [owner, intruder]: [String; 2],
        when: When,
        places: &[&str],
    ) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let mut door = Door::open(
            &model,
            |_| {},
            |parts| {
                let_in(parts);
                parts.settings.links = Some(link_settings());
            },
        );
        let client = door.listen().await;
        let (owner, intruder) = (client.clone().bearing(&owner), client.bearing(&intruder));
        model.on("What is secret?").reply("The canary sings.");
        let question = Question::new("What is secret?").session("s-secret").request("q-secret");
        let stream = owner.ask(Protocol::Native, &question).await;
        let (run, _) = (stream.run(), stream.rest().await);
        owner.upload("s-secret", "secret.md", "The canary's name.").await;
        let coming = json!({"requestId": "s-secret", "fileName": "coming.md", "fileSize": 3});
        assert_eq!(owner.post("/v1/file_tool/upload_url", &coming).await.status, 200);
        let share = json!({"with": "carol", "write": true});
        let share = owner.post("/sessions/s-secret/share", &share).await.json();
        let handle = share["handle"].as_str().unwrap();
        model.on("What hangs?").reply("The canary").hang_after(1);
        let question = Question::new("What hangs?").session("s-secret").request("q-active");
        let stream = owner.ask(Protocol::Native, &question).await;
        let active = stream.run();
        let at_work = match when {
            When::AtWork => Some(stream),
            When::Ended => {
                owner.stop(&active).await;
                stream.rest().await;
                None
            }
        };
        model.on("Mine?").reply("Mine.").always();
        let stream = intruder.ask(Protocol::Native, &Question::of("Mine?", "own")).await;
        let (own, _) = (stream.run(), stream.rest().await);
        let ids = |kind, foreign: &str, unknown: &str| {
            assert_eq!(foreign.len(), unknown.len());
            Ids { kind, foreign: foreign.to_owned(), unknown: unknown.to_owned() }
        };
        let places = places.iter().map(|place| (*place).to_owned()).collect();
        let nobody = format!("run_{}", "0".repeat(32));
        let ids = vec![
            ids("run", &run, &nobody),
            ids("run", &active, &nobody),
            ids("session", "s-secret", "s-nobody"),
            ids("request", "q-secret", "q-nobody"),
            ids("request", "q-active", "q-nobody"),
            ids("file", "secret.md", "nobody.md"),
            ids("upload", "coming.md", "nobody.md"),
            ids("share", handle, &format!("shr_{}", "0".repeat(32))),
        ];
        Self { model, owner, intruder, ids, own, places, _at_work: at_work, _door: door }
    }

    /// All that a client can see of its own.
    async fn seen_by(&self, client: &Client) -> Vec<String> {
        let mut seen = Vec::new();
        let runs = self.ids.iter().filter(|ids| ids.kind == "run");
        let paths = runs.map(|ids| format!("/runs/{}", ids.foreign));
        let lists = ["/runs", "/sessions", "/sessions/s-secret"].map(str::to_owned);
        for path in lists.into_iter().chain(paths) {
            let mut shown = client.get(&path).await.json();
            // A run at work ages while it is looked at.
            shown["budget"]["wall_ms"] = Value::Null;
            seen.push(shown.to_string());
        }
        let list = json!({"requestId": "s-secret"});
        seen.push(client.post("/v1/file_tool/get_file_list", &list).await.text);
        seen
    }

    /// Sends a request of the intruder's with this id in it.
    async fn answer(&self, method: &str, case: &Case, id: &str) -> Answer {
        let filled = |text: &str| text.replace("{id}", id).replace("{own}", &self.own);
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.intruder.request(method, &filled(case.path));
        let request = match case.sent {
            Sent::Nothing => request,
            Sent::Json(body) => request.header(CONTENT_TYPE, "application/json").body(filled(body)),
            Sent::Question(body) => {
                let request = request.header(CONTENT_TYPE, "application/json");
                request.header(ACCEPT, "text/event-stream").body(filled(body))
            }
            Sent::Form(parts) => request
                .header(CONTENT_TYPE, "multipart/form-data; boundary=b0")
                .body(filled(parts).replace('\n', "\r\n")),
        };
        Answer::of(request.send().await.unwrap()).await
    }
}

/// An answer without what differs between two of the same request: its own id, the id that was asked
/// for, the signature of an upload, the moment of an event.
fn told(answer: &Answer, id: &str, foreign: &[String]) -> (u16, Vec<(String, String)>, String) {
    let mut body = unsigned(&answer.text);
    let leads_to_foreign = |text: &str| foreign.iter().any(|place| text.contains(place));
    assert!(!leads_to_foreign(&body), "a link into another's files: {body}");
    let is_upload = answer.text.contains("X-Amz-Signature");
    if is_upload && let Ok(mut json) = serde_json::from_str::<Value>(&body) {
        let pointer = if json["uploadUrl"].is_string() { "/uploadUrl" } else { "/upload/url" };
        let url = json.pointer_mut(pointer).unwrap().take();
        assert!(!leads_to_foreign(url.as_str().unwrap()), "{url}");
        body = json.to_string();
    }
    // When the event of a refusal was made.
    let member = "\"messageTime\":\"";
    if let Some((before, (_, after))) =
        body.split_once(member).and_then(|(before, rest)| Some((before, rest.split_once('"')?)))
    {
        body = format!("{before}{member}{after}");
    }
    let own = ["date", "djinn-request-id"];
    let headers = answer.headers.iter().filter(|(name, _)| !own.contains(&name.as_str()));
    // A link to a file names the session by its hash.
    let hash = &sha256_hex(id.as_bytes())[..32];
    let text = |value: &str| value.replace(id, "ID").replace(hash, "ID");
    let mut headers: Vec<_> = headers
        .filter(|(name, _)| *name != "content-length" || !is_upload)
        .map(|(name, value)| (name.to_string(), text(value.to_str().unwrap())))
        .collect();
    headers.sort();
    (answer.status, headers, text(&body))
}

#[tokio::test]
async fn what_is_another_tenants_is_answered_as_what_does_not_exist() {
    let (list, [anna, mallory, _]) = keyed([("acme", "anna"), ("evil", "anna"), ("acme", "carol")]);
    let users = Users::start(let_in(list), [anna, mallory], When::AtWork, TENANT).await;
    nothing_crosses(&users).await;
}

#[tokio::test]
async fn what_is_another_users_of_the_same_tenant_is_answered_as_what_does_not_exist() {
    for when in [When::AtWork, When::Ended] {
        let (list, [hers, his, _]) = keyed(["anna", "bob", "carol"].map(|user| ("acme", user)));
        let anna = &sha256_hex(b"anna")[..32];
        let places = [format!("/{anna}/"), format!("/acme:{anna}:")];
        let places = places.each_ref().map(String::as_str);
        nothing_crosses(&Users::start(let_in(list), [hers, his], when, &places).await).await;
    }
}

#[tokio::test]
async fn nor_does_anything_cross_between_tenants_who_are_known_by_tokens() {
    let key = SigningKey::ec("e1");
    let issuer = Issuer::start(&[&key]).await;
    let tokens = ["acme", "evil"].map(|tenant| key.token(&issuer.claims(tenant, "anna")));
    nothing_crosses(&Users::start(issuer.lets_in(), tokens, When::Ended, TENANT).await).await;
}

async fn nothing_crosses(users: &Users) {
    let before = users.seen_by(&users.owner).await;
    assert!(before.iter().any(|seen| seen.contains("canary")), "{before:?}");
    let mut tried = 0;
    for (method, route, cases) in ROUTES {
        for case in *cases {
            let ids = users.ids.iter().filter(|ids| case.kinds.contains(&ids.kind));
            for ids in ids {
                let what = format!("{method} {route} with the {} {}", ids.kind, ids.foreign);
                let mine = users.seen_by(&users.intruder).await;
                let unknown = users.answer(method, case, &ids.unknown).await;
                let foreign = users.answer(method, case, &ids.foreign).await;
                assert_eq!(foreign.status, case.status, "{what}: {}", foreign.text);
                assert!(!foreign.text.contains(CANARY), "{what}: {}", foreign.text);
                match case.sent {
                    Sent::Question(_) => {
                        assert_eq!(unknown.status, foreign.status, "{what}");
                        let asked = users.model.last_request().unwrap();
                        assert!(!format!("{:?}", asked.messages()).contains(CANARY), "{what}");
                    }
                    Sent::Nothing | Sent::Json(_) | Sent::Form(_) => {
                        let unknown = told(&unknown, &ids.unknown, &users.places);
                        let foreign = told(&foreign, &ids.foreign, &users.places);
                        assert_eq!(unknown, foreign, "{what}");
                    }
                }
                if case.status == 404 {
                    assert_eq!(users.seen_by(&users.intruder).await, mine, "{what}");
                }
                tried += 1;
            }
        }
    }
    assert!(tried > 60, "{tried}");
    assert_eq!(users.seen_by(&users.owner).await, before);
}

#[test]
fn no_route_of_the_agent_is_a_page_of_a_ui_beside_it() {
    let pages: Vec<_> = ROUTES.iter().filter(|(_, route, _)| !agent::is_own_path(route)).collect();
    assert_eq!(pages.len(), 0, "{:?}", pages.first().map(|(_, route, _)| route));
    assert!(!agent::is_own_path("/") && !agent::is_own_path("/assets/runs"));
}

#[test]
fn no_route_of_the_agent_is_forgotten() {
    let known = ROUTES.iter().map(|(method, route, _)| ((*method).to_owned(), (*route).to_owned()));
    assert_eq!(known.collect::<std::collections::BTreeSet<_>>(), routes::of_the_agent());
}

#[test]
fn the_contract_has_the_routes_of_the_agent_and_no_other() {
    assert_eq!(operations(), routes::of_the_agent());
}
