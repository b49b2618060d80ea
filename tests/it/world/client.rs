//! What a client does: it asks, stops, and keeps files.

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use super::always_hands_over;
use super::contract::check_answer;
use super::stream::{Again, Frame, Stream};

/// Speaks to one origin.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) url: String,
}

/// How a question is asked and answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Native,
    Raw,
    Ui,
}

/// A question and its ids; the ids may be missing.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) session: Option<String>,
    pub(crate) request: Option<String>,
    pub(crate) last_event_id: Option<String>,
    pub(crate) deep: bool,
}

/// An answer that is no stream.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Protocol {
    pub(crate) const ALL: [Self; 3] = [Self::Native, Self::Raw, Self::Ui];

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Native => "/runs",
            Self::Raw => "/AutoAgent",
            Self::Ui => "/web/api/v1/gpt/queryAgentStreamIncr",
        }
    }

    /// The name of a question's member, which is JoyAgent's in all but one.
    pub(crate) fn member(self, name: &'static str) -> &'static str {
        match (self, name) {
            (Self::Native, "query") => "question",
            (Self::Native, "sessionId") => "session_id",
            (Self::Native, "requestId") => "request_id",
            (Self::Native, "outputStyle") => "output_style",
            (_, name) => name,
        }
    }

    pub(crate) fn body(self, question: &Question) -> Value {
        let mut body = json!({self.member("query"): question.text});
        match self {
            Self::Native if question.deep => body["mode"] = "plan_solve".into(),
            Self::Native => {}
            Self::Raw => {
                body["agentType"] = if question.deep { 3.into() } else { 5.into() };
                body["isStream"] = true.into();
            }
            Self::Ui => body["deepThink"] = i32::from(question.deep).into(),
        }
        for (name, id) in [("sessionId", &question.session), ("requestId", &question.request)] {
            if let Some(id) = id {
                body[self.member(name)] = id.as_str().into();
            }
        }
        body
    }
}

impl Question {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            session: None,
            request: None,
            last_event_id: None,
            deep: false,
        }
    }

    /// In this session, as its request `r1`.
    pub(crate) fn of(text: &str, session: &str) -> Self {
        Self::new(text).session(session).request("r1")
    }

    pub(crate) fn session(self, session: &str) -> Self {
        Self { session: Some(session.to_owned()), ..self }
    }

    pub(crate) fn request(self, request: &str) -> Self {
        Self { request: Some(request.to_owned()), ..self }
    }

    /// The same question in the mode that makes a plan.
    pub(crate) fn deep(self) -> Self {
        Self { deep: true, ..self }
    }

    pub(crate) fn after(self, cursor: &str) -> Self {
        Self { last_event_id: Some(cursor.to_owned()), ..self }
    }

    /// What a client goes on with after a frame that says how to.
    #[track_caller]
    pub(crate) fn going_on(&self, protocol: Protocol, last: &Frame) -> Self {
        match protocol {
            Protocol::Native => {
                assert_eq!(last.event(), "run.handed_over");
                self.clone().after(last.json()["last_event_id"].as_str().unwrap())
            }
            Protocol::Raw => {
                let event = last.json();
                let says = (&event["messageType"], &event["finish"]);
                assert_eq!(says, (&json!("hand_over"), &json!(false)));
                self.clone().after(event["ext"]["lastEventId"].as_str().unwrap())
            }
            Protocol::Ui => {
                let envelope = last.json();
                assert_eq!(envelope["finished"], true);
                let words = envelope["response"].as_str().unwrap();
                assert!(words.contains("Still working") && words.contains("continue"), "{words}");
                let session = self.session.as_deref().unwrap();
                Self::new("continue").session(session).request("r2")
            }
        }
    }
}

impl Client {
    pub(crate) fn new(url: String) -> Self {
        let http = reqwest::Client::builder().tcp_nodelay(true);
        let http = http.redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { http, url }
    }

    /// The same client with a key or a token.
    pub(crate) fn bearing(self, credential: &str) -> Self {
        let bearer = format!("Bearer {credential}").parse().unwrap();
        let headers = HeaderMap::from_iter([(AUTHORIZATION, bearer)]);
        let http = reqwest::Client::builder().tcp_nodelay(true).default_headers(headers);
        let http = http.redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { http, ..self }
    }

    /// Asks, and gets the stream or the refusal.
    pub(crate) async fn ask(&self, protocol: Protocol, question: &Question) -> Stream {
        let mut request = self.request(Method::POST, protocol.path());
        if let Some(cursor) = &question.last_event_id {
            request = request.header("last-event-id", cursor);
        }
        self.ask_with(request.json(&protocol.body(question))).await
    }

    /// Asks in the native protocol and waits for the end.
    pub(crate) async fn told(&self, question: &Question) -> Vec<super::Frame> {
        self.ask(Protocol::Native, question).await.rest().await
    }

    /// The final entry of a question asked in the native protocol.
    pub(crate) async fn ending(&self, question: &Question) -> Value {
        self.told(question).await.last().unwrap().json()
    }

    pub(crate) async fn ask_with(&self, request: RequestBuilder) -> Stream {
        let request = request.header(ACCEPT, "text/event-stream").build().unwrap();
        let again = always_hands_over().then(|| Again::new(&self.http, &request));
        Stream::of(self.http.execute(request).await.unwrap(), again)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        Answer::of(self.request(Method::POST, path).json(body).send().await.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path).send().await.unwrap()).await
    }

    /// Responds to a human request of a run.
    pub(crate) async fn respond(&self, run: &str, request: &str, body: &Value) -> Answer {
        self.post(&format!("/runs/{run}/requests/{request}/response"), body).await
    }

    /// The open human requests of a run.
    pub(crate) async fn open_requests(&self, run: &str) -> Vec<Value> {
        let list = self.get(&format!("/runs/{run}/requests")).await.json();
        assert_eq!(list["run"], run, "{list}");
        list["requests"].as_array().unwrap().clone()
    }

    /// The open human request of this id, or null.
    pub(crate) async fn open_request(&self, run: &str, id: &str) -> Value {
        let requests = self.open_requests(run).await;
        requests.into_iter().find(|request| request["id"] == id).unwrap_or_default()
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::DELETE, path).send().await.unwrap()).await
    }

    /// Comes back to a run, perhaps with the cursor it had last.
    pub(crate) async fn come_back(&self, run: &str, cursor: Option<&str>) -> Stream {
        let request = self.request(Method::GET, &format!("/runs/{run}/events"));
        self.ask_with(match cursor {
            Some(cursor) => request.header("last-event-id", cursor),
            None => request,
        })
        .await
    }

    pub(crate) async fn stop(&self, run: &str) -> Answer {
        self.post(&format!("/runs/{run}/stop"), &json!({})).await
    }

    pub(crate) async fn upload(&self, session: &str, name: &str, content: &str) -> Answer {
        let file = json!({
            "requestId": session, "fileName": name, "description": "", "content": content,
        });
        let answer = self.post("/v1/file_tool/upload_file", &file).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer
    }

    /// The bytes that a link leads to, through our redirect.
    pub(crate) async fn follow(&self, url: &str) -> Answer {
        let sent = self.http.get(url).send().await.unwrap();
        // Pages and drawings are sent by the function itself.
        if sent.status() == 200 {
            return Answer::of(sent).await;
        }
        assert_eq!(sent.status(), 302, "{url}");
        let location = sent.headers()["location"].to_str().unwrap().to_owned();
        Answer::of(self.http.get(location).send().await.unwrap()).await
    }
}

impl Answer {
    pub(crate) async fn of(response: Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let path = response.url().path().to_owned();
        let text = response.text().await.unwrap();
        check_answer(None, &path, status, &text);
        Self { status, headers, text }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}
