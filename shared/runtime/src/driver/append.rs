//! Appending to the run's journal while the store takes any amount of time.

use djinn_core::input::Input;

use super::background::BackgroundWork;
use super::costs::RunCosts;
use super::driven_run::DrivenRun;
use super::lease::HeldLease;
use super::viewers::Viewers;
use super::writer::WriteReport;
use crate::port::clock::Clock;
use crate::settings::to_millis;
use crate::world::Ports;

/// Appends a record. Sends heartbeats and renews the lease while the store works.
pub(super) async fn append_inputs<P: Ports>(
    run: &mut DrivenRun<P>,
    inputs: Vec<Input>,
    lease: &HeldLease,
    costs: &RunCosts,
    viewers: &mut Viewers,
    background: &mut BackgroundWork,
) -> WriteReport {
    let ports = run.ports().clone();
    let key = run.key().clone();
    let heartbeat_every = to_millis(ports.settings().heartbeat_every);
    let renew_every = to_millis(ports.settings().renew_every);
    let clock = ports.clock();
    let mut renew_at_ms = clock.now_ms().saturating_add(renew_every);
    let reaches_asker = viewers.reaches_asker();
    let writing = run.record_inputs(inputs, lease.lease(), costs.account(), reaches_asker);
    let mut writing = std::pin::pin!(writing);
    loop {
        let beat_at_ms = viewers.heartbeat_at_ms(heartbeat_every);
        tokio::select! {
            biased;
            outcome = &mut writing => return outcome,
            () = clock.sleep_until(beat_at_ms.min(renew_at_ms)) => {
                let now_ms = clock.now_ms();
                if beat_at_ms <= now_ms {
                    viewers.send_heartbeat(now_ms);
                }
                if renew_at_ms <= now_ms {
                    renew_at_ms = now_ms.saturating_add(renew_every);
                    background.spawn_background(lease.renew(&ports, &key));
                }
            }
        }
    }
}
