//! Tests of the operator's way to a cluster, with one body for the server in process and for a real one.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)]

pub mod cases;
pub mod hostile;
pub mod life;
pub mod meddle;
pub mod place;
pub mod trouble;

pub use place::Place;

/// Every test, on places that this makes.
#[macro_export]
macro_rules! cases {
    ($place:path) => {
        $crate::cases!($place; cases:
            the_watch_tells_all_by_pages_and_then_every_change
            a_secret_that_a_proxy_names_is_told_and_no_other_is
            a_status_is_written_over_the_version_that_was_read_and_touches_nothing_else
            our_finalizer_goes_on_and_off_and_those_of_others_stay
            what_is_being_deleted_is_gone_with_our_finalizer_if_it_is_the_last
            a_secret_is_read_and_one_that_is_not_there_is_none
            an_endpoint_is_published_and_taken_away_and_a_secret_of_others_is_left_alone
            a_lease_is_made_renewed_lost_and_released
            of_two_candidates_one_leads_and_the_other_follows
            the_health_of_a_provider_is_written_and_those_of_others_go
            what_is_told_stands_as_an_event_and_again_as_a_count
        );
        $crate::cases!($place; hostile:
            a_proxy_with_a_hostile_status_hides_no_other_and_can_be_written
        );
        $crate::cases!($place; trouble:
            a_watch_that_is_too_old_begins_anew
            a_watch_that_breaks_off_goes_on_without_a_gap
            watches_that_end_at_once_are_not_begun_in_a_hot_loop
            a_server_that_is_busy_is_asked_again_when_it_says_so
            a_request_without_an_answer_ends_at_its_deadline
            a_list_whose_rest_has_expired_is_no_list
            a_kind_that_is_not_served_is_no_empty_list
        );
        $crate::cases!($place; life:
            a_proxy_lives_from_its_creation_to_its_deletion
            a_write_that_the_server_refuses_is_told
        );
    };
    ($place:path; $module:ident: $($case:ident)+) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            let place = $place().await;
            apiserver::$module::$case(&place).await;
            place.end().await;
        })+
    };
}
