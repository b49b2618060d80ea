//! A person who looks now and then at what a run asks, and answers.

use djinn_core::feedback::{Answer, Answered, Ask};
use djinn_core::id::UserId;
use djinn_runtime::port::RunKey;
use djinn_runtime::serve::{answer, pending};

use super::Sim;

impl Sim {
    /// Answers all that is asked, each by a process of its own: what is not taken up is answered at the
    /// next look.
    pub(super) async fn answer(&mut self, key: &RunKey) {
        let Some(person) = self.person else { return };
        let Ok(asks) = pending(&self.ports, key).await else { return };
        for ask in asks {
            self.says(key, &ask, person(&ask));
        }
    }

    /// Somebody answers.
    pub fn says(&mut self, key: &RunKey, ask: &Ask, said: Answer) {
        let (process, ports, serving) = self.invocation_of(key.clone(), 0);
        let answered = Answered {
            feedback: ask.id.clone(),
            id: format!("by.{process}"),
            by: UserId::new("u").ok(),
            answer: said,
            comment: String::new(),
            digest: Some(ask.digest.clone()),
            via: None,
        };
        self.spawn(process, async move {
            // Whoever was late looks again.
            let _ = answer(&ports, &serving.key, answered).await;
        });
    }
}
