//! `tests/bad_inputs.toml`: requests that are refused, each with its status, code and field, and without
//! a trace in the table or the bucket.

mod row;
mod sent;

use std::collections::{BTreeMap, BTreeSet};

use agent::{FileGrant, LinkKeys, ResponseGrant};
use djinn_scripted::ScriptedModel;
use dynoxide::Database;
use dynoxide::actions::scan::ScanRequest;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::keys::{keyed, let_in};
use crate::links::files::file_grant;
use crate::links::{LINK_KEY, grant_of, link_settings};
use crate::matrix::routes;
use crate::table::made;
use crate::template::transformed;
use crate::world::{Client, Door, Issuer, Parts, Protocol, Question, SETTLED_WITHIN, SigningKey};
use row::{Case, DoorKind, cases};
use sent::send;

/// Requests to the bucket that leave nothing behind.
const READS: [&str; 3] = ["GetObject", "HeadObject", "ListObjectsV2"];

/// One way of telling callers apart, with a run that has ended, and everything that is kept.
struct Place {
    door: Door,
    client: Client,
    database: Database,
    /// What `{name}` in a row stands for.
    known: BTreeMap<&'static str, String>,
    _issuer: Option<Issuer>,
}

impl Place {
    async fn open(kind: DoorKind, model: &ScriptedModel) -> Self {
        match kind {
            DoorKind::Open => Self::with(model, |_| {}, None).await,
            DoorKind::Key => {
                let (list, [anna]) = keyed([("acme", "anna")]);
                Self::with(model, let_in(list), Some(anna)).await
            }
            DoorKind::Jwt => {
                let key = SigningKey::ec("e1");
                let issuer = Issuer::start(&[&key]).await;
                let token = key.token(&issuer.claims("acme", "anna"));
                let place = Self::with(model, issuer.lets_in(), Some(token)).await;
                Self { _issuer: Some(issuer), ..place }
            }
        }
    }

    async fn with(
        model: &ScriptedModel,
        let_in: impl FnOnce(&mut Parts),
        credential: Option<String>,
    ) -> Self {
        let database = made(&transformed()["Resources"]["Table"]["Properties"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(dynoxide::server::serve_on(listener, database.clone()));
        let at = |settings: &mut djinn_aws::Settings| settings.endpoints.dynamodb = Some(url);
        let mut door = Door::open(model, at, |parts| {
            let_in(parts);
            parts.settings.links = Some(link_settings());
        });
        let client = door.listen().await;
        let caller = match &credential {
            Some(credential) => client.clone().bearing(credential),
            None => client.clone(),
        };
        let stream =
            caller.ask(Protocol::Native, &Question::new("Mine?").session("s1").request("q1")).await;
        let (run, _) = (stream.run(), stream.rest().await);
        caller.upload("s1", "mine.md", "Mine.").await;
        let credential = credential.unwrap_or_default();
        let mut known = BTreeMap::from([("run", run.clone()), ("credential", credential)]);
        let keys = LinkKeys::parse(LINK_KEY).unwrap();
        for (name, grant) in links_to(&run) {
            known.insert(name, keys.sign_response(&grant).unwrap());
        }
        for (name, grant) in links_to_files() {
            known.insert(name, keys.sign_file(&grant).unwrap());
        }
        let place = Self { door, client, database, known, _issuer: None };
        place.settled().await;
        place
    }

    /// Waits until nobody drives the run any more, which is the last that is written of it.
    async fn settled(&self) {
        let settled = async {
            while self.kept().to_string().contains("\"holder\"") {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(SETTLED_WITHIN, settled).await.unwrap();
    }

    /// Every item of the table.
    fn kept(&self) -> Value {
        let scan = json!({"TableName": djinn_local::TABLE});
        let scan: ScanRequest = serde_json::from_value(scan).unwrap();
        let scanned = self.database.scan(scan).unwrap();
        assert!(scanned.last_evaluated_key.is_none());
        json!(scanned.items)
    }

    /// What is wrong with the answer to a row.
    async fn complaint(&self, case: &Case, before: &Value) -> Option<String> {
        let _ = self.door.aws.request_counter().take_counts();
        let reply = send(&self.client.url, &case.request(&self.known)).await;
        let requests = self.door.aws.request_counter().take_counts();
        // What comes of requests to the table is seen there: one whose condition fails leaves nothing.
        let is_to_table = |name: &str| name.contains("Item") || name == "Query";
        let writes: Vec<_> = requests
            .keys()
            .filter(|name| !is_to_table(name) && !READS.contains(&name.as_str()))
            .collect();
        let told = reply.told(case.is_for_the_ui());
        let wanted = (case.status, case.code.as_deref(), case.field.as_deref());
        let got = (reply.status, told.code.as_deref(), told.field.as_deref());
        let shown: String = reply.text.chars().take(300).collect();
        if got != wanted {
            return Some(format!("{}: {got:?}, not {wanted:?}: {shown}", case.name));
        }
        if !writes.is_empty() || self.kept() != *before {
            return Some(format!("{}: something was written ({writes:?}): {shown}", case.name));
        }
        if told.code.is_none() && !reply.text.is_empty() {
            return Some(format!("{}: an answer without a code: {shown}", case.name));
        }
        let is_told = reply.text.len() < 4_000
            && !["panicked", ".rs:"].iter().any(|word| reply.text.contains(word));
        (!is_told).then(|| format!("{}: says too much: {shown}", case.name))
    }
}

/// What the links in rows grant: an answer to something that the laptop's run never asked, and the same
/// when it is too late.
fn links_to(run: &str) -> [(&'static str, ResponseGrant); 2] {
    let grant = grant_of(run, "t1.c1", &"0".repeat(64));
    [("link", grant.clone()), ("expired", ResponseGrant { expires_at_ms: 1, ..grant })]
}

/// What the links to files in rows grant: content that is not there, and the same when it is too late.
fn links_to_files() -> [(&'static str, FileGrant); 2] {
    let grant = file_grant();
    [("file", grant.clone()), ("expired_file", FileGrant { expires_at_ms: 1, ..grant })]
}

#[tokio::test]
async fn every_bad_input_is_refused_as_it_says_and_leaves_nothing_behind() {
    let model = ScriptedModel::start().await.unwrap();
    model.on("Mine?").reply("Mine.").always();
    let mut complaints = Vec::new();
    let all = cases();
    for kind in DoorKind::ALL {
        let place = Place::open(kind, &model).await;
        let (mut before, asked) = (place.kept(), model.requests().len());
        for case in all.iter().filter(|case| case.door == kind) {
            if let Some(complaint) = place.complaint(case, &before).await {
                complaints.push(complaint);
                before = place.kept();
            }
        }
        complaints
            .extend((model.requests().len() > asked).then(|| "a model was called".to_owned()));
    }
    assert!(complaints.is_empty(), "{} rows:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn there_are_enough_rows_for_every_route_and_none_has_anothers_name() {
    let all = cases();
    assert!(all.len() >= 200, "{}", all.len());
    let names: BTreeSet<_> = all.iter().map(|case| &case.name).collect();
    assert_eq!(names.len(), all.len());
    // Older clients of the MCP server show the error of a successful response.
    let is_refusal = |case: &row::Case| {
        (400..500).contains(&case.status) || (case.status == 200 && case.is_of("POST", "/mcp"))
    };
    assert!(all.iter().all(is_refusal));
    // These two take nothing that could be wrong.
    let exempt = [("GET", "/web/health"), ("GET", "/data/allModels")];
    let missing: Vec<_> = routes::of_the_agent()
        .into_iter()
        .filter(|(method, route)| !exempt.contains(&(method.as_str(), route.as_str())))
        .filter(|(method, route)| !all.iter().any(|case| case.is_of(method, route)))
        .collect();
    assert!(missing.is_empty(), "no row of tests/bad_inputs.toml is about {missing:?}");
}
