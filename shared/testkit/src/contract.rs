//! The guarantees of every store, as tests over the ports: see [`contract_tests`](crate::contract_tests).
//!
//! Each test needs an empty store. A broken guarantee fails an assertion; a returned error is an error of the
//! store.

pub mod admission;
pub mod budget;
pub mod call_history;
pub mod catalog;
pub mod chain;
pub mod file;
mod fixture;
pub mod journal;
pub mod lease;
pub mod live;
pub mod mailbox;
pub mod sealed_key;
pub mod session;
pub mod share;
pub mod size;

/// The result of a contract test.
pub type Checked = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Creates one `#[tokio::test]` for each guarantee of a store.
///
/// Takes an expression that creates an empty store for each test. The expression returns a pair: a value to
/// keep alive during the test, and the store.
#[macro_export]
macro_rules! contract_tests {
    ($store:expr) => {
        $crate::contract_tests! { @each $store;
            journal: [
                a_run_is_created_once,
                of_concurrent_creations_of_a_run_one_is_new,
                a_record_is_appended_once,
                of_concurrent_records_of_one_number_one_is_written,
                the_last_record_ends_the_run_and_is_written_once,
                whether_its_end_was_shown_is_known_of_a_run,
                an_ending_that_lost_its_number_changes_nothing,
                records_are_read_in_order_and_from_any_number_on,
                a_journal_is_read_page_by_page,
                long_records_are_read_as_they_were_written,
                newer_records_are_left_alone,
                what_does_not_exist_reads_as_nothing,
                users_of_a_tenant_may_use_the_same_labels,
                tenants_never_see_each_others_runs,
                a_task_lives_beside_its_run_and_leaves_the_session_alone,
                what_tasks_of_a_round_start_from_is_read_with_each_of_them,
            ]
            chain: [
                records_form_a_chain,
                head_is_noted_when_a_lease_is_released,
                starts_of_children_are_part_of_their_chains,
            ]
            session: [
                a_session_answers_one_run_at_a_time,
                of_concurrent_runs_of_a_session_one_is_new,
                an_ended_run_frees_its_session_and_no_other,
                a_session_left_busy_by_an_ended_run_is_free,
                a_run_that_is_given_up_has_failed_and_frees_its_session,
                history_is_the_newest_exchanges_oldest_first,
                a_summary_stands_for_the_oldest_exchanges,
                a_label_names_a_session_of_its_users,
            ]
            share: [
                a_share_is_found_by_its_handle_and_by_its_session,
                a_guest_finds_the_sessions_shared_with_the_guest,
                only_a_session_that_is_there_can_be_shared,
                the_end_of_a_session_ends_its_shares,
                a_session_has_a_hundred_shares_at_most,
            ]
            sealed_key: [
                keys_belong_to_their_user_and_are_replaced_by_name_and_origin,
                a_user_has_a_hundred_keys_at_most,
            ]
            lease: [
                a_lease_is_held_until_it_lapses,
                a_lease_lapses_in_the_millisecond_of_its_end,
                a_released_lease_is_taken_without_a_lapse,
                a_run_without_a_lease_waits_for_its_first_driver,
                of_concurrent_takers_one_holds_the_lease,
                taking_a_lease_again_gives_the_same_lease,
                a_lease_is_renewed_and_released_only_by_its_holder,
                an_ended_run_is_not_driven,
            ]
            admission: [
                a_user_starts_so_many_runs_a_minute,
                a_user_has_so_many_runs_at_work,
                a_place_that_was_not_given_back_is_found,
                of_concurrent_starts_no_more_are_taken_than_there_is_room_for,
            ]
            budget: [
                what_is_reserved_counts_until_it_is_settled,
                a_change_of_a_day_is_made_once,
                a_change_names_what_is_held,
                a_day_takes_calls_until_a_bound_is_reached,
                of_concurrent_reservations_one_passes_the_bound,
                the_end_of_a_run_settles_its_last_call,
                old_holds_count_as_spent_when_there_are_too_many,
            ]
            call_history: [
                samples_of_a_tool_are_its_users_own,
                the_newest_samples_are_kept,
            ]
            mailbox: [
                a_message_is_there_until_it_is_deleted,
                mail_is_the_runs_own,
                a_mailbox_names_the_moment_until_which_its_run_is_watched,
            ]
            size: [
                mail_of_any_length_is_read_as_it_was_put,
                what_was_asked_and_answered_has_any_length,
                what_is_too_large_is_refused_for_good_and_leaves_nothing,
            ]
            live: [
                previews_are_read_in_order_and_once,
                writers_do_not_replace_each_other,
                entries_of_tasks_are_read_as_they_were_written,
            ]
            file: [
                a_file_is_found_and_read_as_it_was_written,
                a_file_is_replaced_by_one_of_its_name,
                a_file_of_another_writer_is_kept,
                a_file_is_read_up_to_a_limit,
                files_are_listed_in_the_order_they_were_written,
                files_belong_to_their_session_its_owner_and_tenant,
                a_view_holds_the_newest_two_hundred_files,
            ]
            catalog: [
                a_users_runs_are_listed_newest_first_with_where_they_stand,
                a_page_of_runs_goes_on_where_the_last_one_ended,
                sessions_are_listed_by_their_newest_run,
                a_session_keeps_the_title_it_is_given,
                turns_are_what_was_asked_and_answered,
                turns_are_listed_page_by_page,
                a_forgotten_session_leaves_nothing,
                a_session_with_a_run_at_work_is_not_forgotten,
                a_forgotten_session_is_gone_with_what_guests_asked_in_it_and_no_other_is,
            ]
        }
    };
    (@each $store:expr; $($module:ident: [$($name:ident,)*])*) => {
        $(mod $module {
            use super::*;
            $(
                #[tokio::test]
                async fn $name() -> $crate::contract::Checked {
                    let (_alive, store) = $store;
                    $crate::contract::$module::$name(&store).await
                }
            )*
        })*
    };
}
