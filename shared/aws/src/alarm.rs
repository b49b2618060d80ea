//! Alarms: a recurring schedule per run. A paused run has a timer instead, starting at the request's timeout.

use std::sync::Arc;

use aws_sdk_scheduler::operation::create_schedule::CreateScheduleError;
use aws_sdk_scheduler::operation::delete_schedule::DeleteScheduleError;
use aws_sdk_scheduler::primitives::DateTime;
use aws_sdk_scheduler::types::{
    ActionAfterCompletion, FlexibleTimeWindow, FlexibleTimeWindowMode, RetryPolicy, Target,
};
use djinn_core::id::sha256_hex;
use djinn_runtime::port::alarm::Alarms;
use djinn_runtime::port::{RunKey, StoreError};

use crate::clients::Clients;
use crate::error::{AwsRequest, store_error};
use crate::invoke::RunInvocation;
use crate::settings::ScheduleSettings;

/// Interval of a recurring alarm.
const RATE: &str = "rate(2 minutes)";

/// Makes and deletes the recurring alarms of runs.
#[derive(Debug, Clone)]
pub struct SchedulerAlarms {
    clients: Arc<Clients>,
}

impl SchedulerAlarms {
    pub(crate) fn new(clients: Arc<Clients>) -> Self {
        Self { clients }
    }

    async fn create_schedule(
        &self,
        key: &RunKey,
        settings: &ScheduleSettings,
        timer: Option<DateTime>,
    ) -> Result<ScheduleCreation, StoreError> {
        let request = self
            .clients
            .scheduler()
            .await
            .create_schedule()
            .name(timer.map_or_else(|| schedule_name(key), |_| timer_name(key)))
            .group_name(&settings.group)
            .schedule_expression(RATE)
            .set_start_date(timer)
            .flexible_time_window(exact_time_window()?)
            .target(executor_target(key, settings)?)
            .action_after_completion(ActionAfterCompletion::None);
        let Err(error) = Box::pin(request.send()).await else {
            return Ok(ScheduleCreation::Created);
        };
        match error.as_service_error() {
            Some(CreateScheduleError::ConflictException(_)) => Ok(ScheduleCreation::AlreadyExisted),
            _ => {
                let on = &settings.group;
                Err(store_error(AwsRequest { operation: "CreateSchedule", on }, &error))
            }
        }
    }

    /// Moves an existing timer.
    async fn update_schedule(
        &self,
        key: &RunKey,
        settings: &ScheduleSettings,
        from: DateTime,
    ) -> Result<(), StoreError> {
        let request = self
            .clients
            .scheduler()
            .await
            .update_schedule()
            .name(timer_name(key))
            .group_name(&settings.group)
            .schedule_expression(RATE)
            .start_date(from)
            .flexible_time_window(exact_time_window()?)
            .target(executor_target(key, settings)?)
            .action_after_completion(ActionAfterCompletion::None);
        let on = &settings.group;
        let request = Box::pin(request.send()).await;
        request
            .map(|_| ())
            .map_err(|error| store_error(AwsRequest { operation: "UpdateSchedule", on }, &error))
    }

    async fn delete_schedule(
        &self,
        name: String,
        settings: &ScheduleSettings,
    ) -> Result<(), StoreError> {
        let request =
            self.clients.scheduler().await.delete_schedule().name(name).group_name(&settings.group);
        let Err(error) = Box::pin(request.send()).await else {
            return Ok(());
        };
        match error.as_service_error() {
            Some(DeleteScheduleError::ResourceNotFoundException(_)) => Ok(()),
            _ => {
                let on = &settings.group;
                Err(store_error(AwsRequest { operation: "DeleteSchedule", on }, &error))
            }
        }
    }
}

impl Alarms for SchedulerAlarms {
    async fn set_alarm(&self, key: &RunKey) -> Result<(), StoreError> {
        match &self.clients.settings.schedules {
            Some(settings) => self.create_schedule(key, settings, None).await.map(|_| ()),
            None => Ok(()),
        }
    }

    async fn set_timer(&self, key: &RunKey, from_ms: i64) -> Result<(), StoreError> {
        let Some(settings) = &self.clients.settings.schedules else { return Ok(()) };
        // Schedules have a resolution of a second, so times are rounded up: an alarm must not fire early.
        let from = DateTime::from_secs(from_ms.saturating_add(999).div_euclid(1_000));
        match self.create_schedule(key, settings, Some(from)).await? {
            ScheduleCreation::Created => Ok(()),
            ScheduleCreation::AlreadyExisted => self.update_schedule(key, settings, from).await,
        }
    }

    async fn remove_timer(&self, key: &RunKey) -> Result<(), StoreError> {
        match &self.clients.settings.schedules {
            Some(settings) => self.delete_schedule(timer_name(key), settings).await,
            None => Ok(()),
        }
    }

    async fn remove_alarm(&self, key: &RunKey) -> Result<(), StoreError> {
        match &self.clients.settings.schedules {
            Some(settings) => self.delete_schedule(schedule_name(key), settings).await,
            None => Ok(()),
        }
    }
}

/// The outcome of creating a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScheduleCreation {
    Created,
    AlreadyExisted,
}

fn exact_time_window() -> Result<FlexibleTimeWindow, StoreError> {
    let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build();
    window.map_err(|error| StoreError::Unreadable(format!("schedule: {error}")))
}

fn executor_target(key: &RunKey, settings: &ScheduleSettings) -> Result<Target, StoreError> {
    Target::builder()
        .arn(&settings.executor_arn)
        .role_arn(&settings.role_arn)
        .input(RunInvocation::new(key, 0).to_json()?)
        // The next alarm fires within two minutes.
        .retry_policy(RetryPolicy::builder().maximum_retry_attempts(0).build())
        .build()
        .map_err(|error| StoreError::Unreadable(format!("schedule: {error}")))
}

/// Returns the schedule name for a paused run's timer.
fn timer_name(key: &RunKey) -> String {
    format!("{}-timer", schedule_name(key))
}

/// Returns the name of a run's schedule: constant for a run, at most 64 letters and digits.
fn schedule_name(key: &RunKey) -> String {
    let hash = sha256_hex(key.to_string().as_bytes());
    format!("djinn-{}", hash.get(..40).unwrap_or(&hash))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::tests::{clients_over, replay_of, sent_requests};
    use crate::item::sample;
    use crate::settings::Settings;
    use djinn_core::id::TenantId;
    use serde_json::{Value, json};

    fn alarms(answers: &[(u16, &str)]) -> (SchedulerAlarms, impl Fn() -> Vec<String>) {
        let http = replay_of(answers);
        let mut settings = Settings::new("t", "b");
        settings.schedules = Some(ScheduleSettings {
            group: "group".into(),
            role_arn: "arn:aws:iam::1:role/r".into(),
            executor_arn: "arn:aws:lambda:eu-west-1:1:function:executor".into(),
        });
        (SchedulerAlarms::new(clients_over(settings, http.clone())), move || sent_requests(&http))
    }

    #[test]
    fn a_schedules_name_is_short_and_the_runs_own() {
        let name = schedule_name(&sample::run());
        assert!(name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
        assert_eq!(name, schedule_name(&sample::run()));
        let other = RunKey { tenant: TenantId::new("t2").unwrap(), ..sample::run() };
        assert_ne!(name, schedule_name(&other));
    }

    #[tokio::test]
    async fn an_alarm_invokes_the_executor_every_two_minutes() {
        let (alarms, made) = alarms(&[(200, r#"{"ScheduleArn":"arn"}"#)]);
        alarms.set_alarm(&sample::run()).await.unwrap();
        let made = made();
        let (request, body) = made[0].split_once(" {").unwrap();
        assert_eq!(request, format!("POST /schedules/{}", schedule_name(&sample::run())));
        let mut body: Value = serde_json::from_str(&format!("{{{body}")).unwrap();
        body.as_object_mut().unwrap().remove("ClientToken");
        assert_eq!(
            body,
            json!({
                "GroupName": "group",
                "ScheduleExpression": "rate(2 minutes)",
                "FlexibleTimeWindow": {"Mode": "OFF"},
                "ActionAfterCompletion": "NONE",
                "Target": {
                    "Arn": "arn:aws:lambda:eu-west-1:1:function:executor",
                    "RoleArn": "arn:aws:iam::1:role/r",
                    "Input": RunInvocation::new(&sample::run(), 0).to_json().unwrap(),
                    "RetryPolicy": {"MaximumRetryAttempts": 0},
                },
            })
        );
    }

    #[tokio::test]
    async fn a_timer_begins_when_time_runs_out_and_is_moved_if_it_exists() {
        let answers = [(409, "ConflictException"), (200, r#"{"ScheduleArn":"arn"}"#), (200, "{}")];
        let (alarms, made) = alarms(&answers);
        alarms.set_timer(&sample::run(), 1_001).await.unwrap();
        alarms.remove_timer(&sample::run()).await.unwrap();
        let made = made();
        let name = timer_name(&sample::run());
        assert!(name.len() <= 64 && name != schedule_name(&sample::run()));
        for (request, verb) in made.iter().zip(["POST", "PUT"]) {
            let (line, body) = request.split_once(" {").unwrap();
            assert_eq!(line, format!("{verb} /schedules/{name}"));
            let body: Value = serde_json::from_str(&format!("{{{body}")).unwrap();
            assert_eq!(
                (&body["StartDate"], &body["ScheduleExpression"]),
                (&json!(2), &json!(RATE))
            );
        }
        assert!(made[2].starts_with(&format!("DELETE /schedules/{name}?")));
    }

    #[tokio::test]
    async fn making_what_exists_and_removing_what_does_not_is_done() {
        let answers = [(409, "ConflictException"), (200, "{}"), (404, "ResourceNotFoundException")];
        let (alarms, made) = alarms(&answers);
        alarms.set_alarm(&sample::run()).await.unwrap();
        alarms.remove_alarm(&sample::run()).await.unwrap();
        alarms.remove_alarm(&sample::run()).await.unwrap();
        let name = schedule_name(&sample::run());
        assert!(made()[1].starts_with(&format!("DELETE /schedules/{name}?groupName=group")));
    }

    #[tokio::test]
    async fn a_refusal_names_the_group_and_no_schedules_are_no_error() {
        let (alarms, _) =
            alarms(&[(403, "AccessDeniedException"), (404, "ResourceNotFoundException")]);
        for _ in 0..2 {
            let error = alarms.set_alarm(&sample::run()).await.unwrap_err().to_string();
            assert!(error.contains("CreateSchedule on group: "), "{error}");
        }
        let none = SchedulerAlarms::new(clients_over(Settings::new("t", "b"), replay_of(&[])));
        none.set_alarm(&sample::run()).await.unwrap();
        none.remove_alarm(&sample::run()).await.unwrap();
    }
}
