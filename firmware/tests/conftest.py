"""What pytest does for the firmware's tests. MicroPython runs them too, and it has no pytest."""

import gc

import pytest

_COMPUTE_LONG = {
    "test_a_card_entered_by_hand_is_dealt_as_if_it_had_been_read",
    "test_a_flipped_bit_of_an_old_event_is_found_once_and_named_with_its_events",
    "test_a_game_that_is_damaged_or_wrong_is_refused_and_nothing_of_it_is_kept",
    "test_a_hole_in_a_mark_never_stands_for_the_same_mark_that_is_missing_beside_it",
    "test_after_any_cut_the_first_part_of_what_was_put_is_there",
    "test_both_cards_of_a_double_feed_are_dealt_as_if_they_had_been_read",
    "test_chatter_on_any_channel_is_one_sensor_fault_and_over_when_it_is_over",
    "test_every_card_of_every_set_is_read_and_is_foreign_to_another_set",
    "test_every_operation_of_a_sectors_change_can_be_the_last",
    "test_in_every_situation_every_input_is_resumed",
    "test_over_restarts_cuts_and_overflows_a_host_can_account_for_each_number",
    "test_parts_out_of_order_overlapping_or_of_another_size_are_refused_and_nothing_is_kept",
    "test_random_rounds_are_those_of_the_second_dealer_for_all_choices_of_the_house",
    "test_wherever_the_power_is_cut_the_game_is_the_same_as_without_a_cut",
}
"""`make check` leaves these out: modules for MicroPython have no marks."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that compute long."""
    for item in items:
        if item.name in _COMPUTE_LONG:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Set the collected tests aside: the firmware collects garbage itself, many times a round, and
    would look through thousands of tests each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _what_other_tests_left_is_set_aside() -> None:
    """What tests of other rooms have imported and kept makes a collection ten times as long."""
    gc.freeze()
