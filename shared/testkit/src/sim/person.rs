//! A person who regularly reads a run's requests and responds.

use djinn_core::human::{HumanRequest, HumanResponse, ResponseRecord};
use djinn_core::id::UserId;
use djinn_runtime::port::RunKey;
use djinn_runtime::serve::{LoadedRun, ResponseCapability, list_requests, submit_response};

use super::Sim;

impl Sim {
    /// Responds to all pending requests, each in a new process. A response that is lost is repeated on the
    /// next visit.
    pub(super) async fn answer_all(&mut self, key: &RunKey) {
        let Some(person) = self.person else { return };
        let Ok(mut run) = LoadedRun::load(&self.ports, key).await else { return };
        let Ok(requests) = list_requests(&self.ports, &mut run).await else { return };
        for request in requests {
            self.send_answer(key, &request, person(&request));
        }
    }

    /// Submits a response of the user `u` in a new process, and ignores errors.
    pub fn send_answer(&mut self, key: &RunKey, request: &HumanRequest, answer: HumanResponse) {
        let (process, ports, serving) = self.new_invocation(key.clone(), 0);
        let response = ResponseRecord {
            request: request.id.clone(),
            id: format!("by.{process}"),
            by: UserId::new("u").ok(),
            answer,
            comment: String::new(),
            digest: Some(request.digest.clone()),
            via: None,
        };
        self.spawn_process(process, async move {
            let Ok(mut run) = LoadedRun::load(&ports, &serving.key).await else { return };
            // A late response is ignored; the person visits again.
            let _ =
                submit_response(&ports, &mut run, response, ResponseCapability::Everything).await;
        });
    }
}
