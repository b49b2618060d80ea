//! Every route that can carry a response, with every kind of human request: which responses count, and which do not.

use djinn_core::entry::Event;
use djinn_core::human::{ResponseChannel, ResponseRecord};
use djinn_core::id::{RunId, TenantId};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals as _;
use futures::future::join_all;
use reqwest::Method;
use reqwest::header::ACCEPT;
use serde_json::{Value, json};

use crate::links::{self, LINK_KEY};
use crate::world::{
    Answer, Options, Protocol, Question, SETTLED_WITHIN, World, employees, summary,
};

/// The routes, and what becomes of a response by each. A column is a kind of request, in the order of [`Kind::ALL`].
/// `+`: the response counts; `!`: the route returns `session_busy`; `-`: the route offers no such response, and the
/// request stays open.
const TABLE: [(Route, &str); 33] = [
    (Route::Native, "++++++"),
    (Route::NativeSkip, "++++++"),
    (Route::Question(Words::Response), "++++++"),
    (Route::Question(Words::Continue), "---++-"),
    (Route::Message(Words::Response), "------"),
    (Route::Message(Words::Continue), "---++-"),
    (Route::Raw(Words::Response), "++++++"),
    (Route::Raw(Words::Continue), "---++-"),
    (Route::Page(Words::Response), "++++++"),
    (Route::Page(Words::Continue), "---++-"),
    (Route::Feedback, "++++++"),
    (Route::FeedbackSkip, "++++++"),
    (Route::Data(Words::Response), "!!!!!!"),
    (Route::Data(Words::Continue), "!!!!!!"),
    (Route::Link, "++++++"),
    (Route::ChatSession(Words::Response), "++++++"),
    (Route::ChatSession(Words::Continue), "---++-"),
    (Route::ChatHistory(Words::Response), "++++++"),
    (Route::ChatHistory(Words::Continue), "---++-"),
    (Route::AiApproval, "++----"),
    (Route::AiMessage(Words::Response), "++++++"),
    (Route::AiMessage(Words::Continue), "---++-"),
    (Route::AgUiInterrupt, "++++++"),
    (Route::AgUiMessage(Words::Response), "++++++"),
    (Route::AgUiMessage(Words::Continue), "---++-"),
    (Route::ResponsesSession(Words::Response), "++++++"),
    (Route::ResponsesSession(Words::Continue), "---++-"),
    (Route::ResponsesPrevious(Words::Response), "++++++"),
    (Route::ResponsesPrevious(Words::Continue), "---++-"),
    (Route::McpSay(Words::Response), "!!!!!+"),
    (Route::McpSay(Words::Continue), "!!!!!+"),
    (Route::McpAsk(Words::Response), "!!!!!!"),
    (Route::McpAsk(Words::Continue), "!!!!!!"),
];

/// A kind of human request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Approval,
    Plan,
    StepResult,
    Budget,
    Interrupt,
    Question,
}

/// The text of a message in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    /// Consent, or the answer to a question.
    Response,
    /// `continue`, which is no consent.
    Continue,
}

/// A route, and what it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    /// `POST /runs/{run}/requests/{request}/response`.
    Native,
    /// `DELETE /runs/{run}/requests/{request}`.
    NativeSkip,
    /// `POST /runs` in the session of the run.
    Question(Words),
    /// `POST /runs/{run}/messages`.
    Message(Words),
    /// `POST /AutoAgent`.
    Raw(Words),
    /// The chat of JoyAgent's page.
    Page(Words),
    /// `POST /api/feedback/{run}`.
    Feedback,
    /// `DELETE /api/feedback/{run}/{request}`.
    FeedbackSkip,
    /// A data question whose own session is the session of the run.
    Data(Words),
    /// A signed link.
    Link,
    /// Chat Completions with a session.
    ChatSession(Words),
    /// Chat Completions with a history that names the run.
    ChatHistory(Words),
    /// A button of the AI SDK's chat.
    AiApproval,
    /// A message of the AI SDK's chat.
    AiMessage(Words),
    /// An interrupt of AG-UI.
    AgUiInterrupt,
    /// A message in a thread of AG-UI.
    AgUiMessage(Words),
    /// The Responses API with a session.
    ResponsesSession(Words),
    /// The Responses API with the run as the response before.
    ResponsesPrevious(Words),
    /// The MCP tool `say`.
    McpSay(Words),
    /// The MCP tool `ask`.
    McpAsk(Words),
}

/// A paused run with one open request.
struct Paused<'a> {
    world: &'a World,
    kind: Kind,
    session: String,
    question: String,
    run: String,
    request: String,
}

impl Kind {
    const ALL: [Self; 6] = [
        Self::Approval,
        Self::Plan,
        Self::StepResult,
        Self::Budget,
        Self::Interrupt,
        Self::Question,
    ];

    fn human_settings(self) -> Value {
        match self {
            Self::Approval | Self::Budget | Self::Interrupt => {
                json!({"enabled": true, "timeout": 0})
            }
            Self::Plan => json!({"confirm_plan": true, "timeout": 0}),
            Self::StepResult => json!({"confirm_results": true, "timeout": 0}),
            Self::Question => json!({"clarify": true, "timeout": 0}),
        }
    }

    fn words(self, words: Words) -> &'static str {
        match words {
            Words::Response if self == Self::Question => "2024",
            Words::Response => "confirm",
            Words::Continue => "continue",
        }
    }

    /// Starts a system whose runs pause for this kind of request.
    async fn world(self) -> World {
        World::start_with(|options: &mut Options, _| {
            let human = self.human_settings().to_string();
            options.vars.push(("DJINN_PEOPLE__REQUESTS", human));
            options.vars.push(("DJINN_LINK_KEY", LINK_KEY.to_owned()));
            let budget = ("DJINN_LIMITS__MAX_TOKENS", "1000".to_owned());
            options.vars.extend((self == Self::Budget).then_some(budget));
        })
        .await
    }

    /// Scripts the run of a question until its request.
    fn script(self, world: &World, question: &str) {
        let model = &world.model;
        let note = json!({"command": "upload", "filename": "note.md", "content": "9"});
        let on = || model.on(question);
        match self {
            Self::Approval => drop(on().say("I note it.").call("file_tool", note)),
            Self::Plan | Self::StepResult => {
                let question = question.to_owned();
                let rule = model.on_request(move |request| {
                    request.offers_tool("planning") && request.text().contains(&question)
                });
                let plan = json!({"command": "create", "title": "Gold", "steps": ["look at gold"]});
                let rule = rule.say("I plan.").call("planning", plan);
                drop(rule.then().call("planning", json!({"command": "finish"})));
            }
            Self::Budget => {
                let read = json!({"command": "get", "filename": "none.csv"});
                drop(on().say("I look.").call("file_tool", read).usage(900, 200, 0));
            }
            Self::Interrupt => drop(on().error(402, "x", None, "Insufficient Balance")),
            Self::Question => {
                drop(on().call("ask_user", json!({"questions": ["Which year?"]})));
            }
        }
    }

    fn is_planned(self) -> bool {
        matches!(self, Self::Plan | Self::StepResult)
    }
}

impl Route {
    /// The answer of a response that counts, and its channel.
    fn expected_response(self, kind: Kind) -> (&'static str, Option<ResponseChannel>) {
        let answer = match self {
            Self::NativeSkip | Self::FeedbackSkip => "skip",
            _ if kind == Kind::Question => "say",
            _ => "confirm",
        };
        let channel = match self {
            Self::Link => Some(ResponseChannel::Link),
            Self::McpSay(_) => Some(ResponseChannel::Mcp),
            _ => None,
        };
        (answer, channel)
    }

    /// Sends a response by the route. `None` if the route's client is not offered to respond.
    async fn send(self, paused: &Paused<'_>) -> Option<Answer> {
        let Paused { world, kind, session, question, run, request } = paused;
        let text = |words| kind.words(words);
        let user = |id: &str, text: &str| {
            let parts = json!([{"type": "text", "text": text}]);
            json!({"id": id, "role": "user", "parts": parts, "content": text})
        };
        let chat = |protocol: Protocol, words| {
            let message = Question::new(text(words)).session(session).request("r2");
            (protocol.path().to_owned(), protocol.body(&message))
        };
        let call = |tool: &str, arguments: Value| {
            let params = json!({"name": tool, "arguments": arguments});
            let message =
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            ("/mcp".to_owned(), message)
        };
        let (path, body) = match self {
            Self::Native => {
                let body = json!({"response": text(Words::Response)});
                return Some(world.respond(run, request, &body).await);
            }
            Self::NativeSkip => {
                return Some(world.delete(&format!("/runs/{run}/requests/{request}")).await);
            }
            Self::FeedbackSkip => {
                return Some(world.delete(&format!("/api/feedback/{run}/{request}")).await);
            }
            Self::Link => {
                let open = world.open_request(run, request).await;
                let path = open["link"].as_str().unwrap().strip_prefix(&world.url).unwrap();
                let (button, words) =
                    if *kind == Kind::Question { ("say", "2024") } else { ("confirm", "") };
                let form = [("response", button), ("words", words)];
                return Some(links::post(world, path, &form).await);
            }
            Self::AiApproval => paused.approval().await?,
            Self::Question(words) => chat(Protocol::Native, words),
            Self::Raw(words) => chat(Protocol::Raw, words),
            Self::Page(words) => chat(Protocol::Ui, words),
            Self::Message(words) => (format!("/runs/{run}/messages"), json!({"text": text(words)})),
            Self::Feedback => {
                let body = json!({"feedbackId": request, "feedback": text(Words::Response)});
                (format!("/api/feedback/{run}"), body)
            }
            Self::Data(words) => {
                ("/data/chatQuery".to_owned(), json!({"content": text(words), "traceId": session}))
            }
            Self::ChatSession(words) => {
                let messages = [user("m2", text(words))];
                let body = json!({"messages": messages, "metadata": {"session_id": session}});
                ("/v1/chat/completions".to_owned(), body)
            }
            Self::ChatHistory(words) => {
                let answer = json!({"role": "assistant", "content": format!("I wait.\n\n`{run}`")});
                let messages = [user("m1", question), answer, user("m2", text(words))];
                ("/v1/chat/completions".to_owned(), json!({"messages": messages}))
            }
            Self::AiMessage(words) => {
                let messages = [user("m1", question), user("m2", text(words))];
                ("/ai/chat".to_owned(), json!({"id": session, "messages": messages}))
            }
            Self::AgUiInterrupt => {
                let payload = json!({"answer": text(Words::Response)});
                let id = format!("{run}:0:{request}");
                let entry = json!({"interruptId": id, "status": "resolved", "payload": payload});
                let messages = [user("m1", question)];
                let body = json!({
                    "threadId": session, "runId": "r2", "messages": messages, "resume": [entry],
                });
                ("/agui".to_owned(), body)
            }
            Self::AgUiMessage(words) => {
                let messages = [user("m1", question), user("m2", text(words))];
                let body = json!({"threadId": session, "runId": "r2", "messages": messages});
                ("/agui".to_owned(), body)
            }
            Self::ResponsesSession(words) => {
                let body = json!({"input": text(words), "conversation": {"id": session}});
                ("/v1/responses".to_owned(), body)
            }
            Self::ResponsesPrevious(words) => {
                let body = json!({"input": text(words), "previous_response_id": run});
                ("/v1/responses".to_owned(), body)
            }
            Self::McpSay(words) => call("say", json!({"run": run, "text": text(words)})),
            Self::McpAsk(words) => {
                call("ask", json!({"question": text(words), "session": session, "wait_s": 0}))
            }
        };
        let request = world.request(Method::POST, &path).json(&body);
        let streams = "application/json, text/event-stream";
        Some(Answer::of(request.header(ACCEPT, streams).send().await.unwrap()).await)
    }
}

impl<'a> Paused<'a> {
    /// Asks a question whose run pauses.
    async fn start(world: &'a World, kind: Kind, name: &str) -> Self {
        let (session, question) = (name.to_owned(), question(name));
        let asked = Question::of(&question, name);
        let asked = if kind.is_planned() { asked.deep() } else { asked };
        let stream = world.ask(Protocol::Native, &asked).await;
        let (run, _) = (stream.run(), stream.rest().await);
        loop {
            let open = world.open_requests(&run).await;
            if let Some(id) = open.first().and_then(|request| request["id"].as_str()) {
                assert_eq!(open.len(), 1, "{open:?}");
                let request = id.to_owned();
                return Self { world, kind, session, question, run, request };
            }
            world.come_back(&run, None).await.rest().await;
        }
    }

    /// The AI SDK's message with the user's approval, if its stream asks for an approval.
    async fn approval(&self) -> Option<(String, Value)> {
        let stream = self.world.get(&format!("/ai/chat/{}/stream", self.session)).await;
        let data = stream.text.lines().filter_map(|line| line.strip_prefix("data:"));
        let chunks = data.map(|data| serde_json::from_str::<Value>(data).unwrap());
        let mut asked = chunks.filter(|chunk| chunk["type"] == "tool-approval-request");
        let asked = asked.next()?;
        let approval = json!({"id": asked["approvalId"], "approved": true});
        let part = json!({
            "type": "dynamic-tool", "toolName": "any", "toolCallId": asked["toolCallId"], "input": {},
            "state": "approval-responded", "approval": approval,
        });
        let metadata = json!({"run": self.run});
        let message =
            json!({"id": self.run, "role": "assistant", "metadata": metadata, "parts": [part]});
        Some(("/ai/chat".to_owned(), json!({"id": self.session, "messages": [message]})))
    }

    /// Returns the journal's response to the request. There is one at last, whatever happened before.
    async fn resolution(&self) -> ResponseRecord {
        let key = RunKey::new(TenantId::new("local").unwrap(), RunId::new(&self.run).unwrap());
        let read = async {
            loop {
                let records = self.world.system.ports().store.read_from(&key, 0).await.unwrap();
                let entries = records.into_iter().flat_map(|record| record.entries);
                let mut responses = entries.filter_map(|entry| match entry.event {
                    Event::HumanResolved(response)
                        if response.request.to_string() == self.request =>
                    {
                        Some(*response)
                    }
                    _ => None,
                });
                if let Some(response) = responses.next() {
                    assert_eq!(responses.next(), None, "{} is answered twice", self.request);
                    return response;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(SETTLED_WITHIN, read).await.unwrap()
    }
}

/// The question of a run, which no other question contains.
fn question(name: &str) -> String {
    format!("Case {name}?")
}

/// Sends a response by the route, and says what became of it.
async fn fate(world: &World, kind: Kind, route: Route, name: &str) -> char {
    let paused = Paused::start(world, kind, name).await;
    let answer = route.send(&paused).await;
    let is_busy = answer.as_ref().is_some_and(|answer| {
        let words = answer.header("djinn-error");
        answer.text.contains("session_busy") || words.starts_with("session_busy")
    });
    // A second response counts exactly if the first did not.
    let second = world.delete(&format!("/runs/{}/requests/{}", paused.run, paused.request)).await;
    let response = paused.resolution().await;
    let found = (response.answer.as_str(), response.via);
    if second.status == 409 {
        assert_eq!(second.json()["code"], "request_resolved", "{route:?}, {kind:?}: {answer:?}");
        assert_eq!(found, route.expected_response(kind), "{route:?}, {kind:?}: {answer:?}");
        assert!(!is_busy, "{route:?}, {kind:?}: {answer:?}");
        return '+';
    }
    assert!([200, 202].contains(&second.status), "{route:?}, {kind:?}: {}", second.text);
    assert_eq!(found, ("skip", None), "{route:?}, {kind:?}: {answer:?}");
    if is_busy { '!' } else { '-' }
}

/// The outcome of a response to this kind of request by each route, in the order of the table.
async fn fates(kind: Kind) -> Vec<char> {
    let world = kind.world().await;
    let names: Vec<String> = (0..TABLE.len()).map(|nth| format!("c{nth:02}")).collect();
    names.iter().for_each(|name| kind.script(&world, &question(name)));
    employees(&world.model).reply("{}").always();
    summary(&world.model).reply("So be it.").always();
    world.model.on_request(|_| true).reply("It is noted.").always();
    let mut fates = Vec::new();
    for ((route, _), name) in TABLE.iter().zip(&names) {
        fates.push(fate(&world, kind, *route, name).await);
    }
    fates
}

#[tokio::test]
async fn each_route_takes_the_responses_that_it_may_take_and_no_other() {
    let columns = join_all(Kind::ALL.map(fates)).await;
    let row = |nth: usize| columns.iter().map(|column| column[nth]).collect::<String>();
    let found = TABLE.iter().enumerate().map(|(nth, (route, _))| (*route, row(nth)));
    let found: Vec<_> = found.collect();
    let expected = TABLE.map(|(route, marks)| (route, marks.to_owned()));
    assert_eq!(found, expected);
}
