"""The enumerations of the protocol: a number on the wire is a word's place in its tuple.

New words are added at the end and words never move: old records must keep their meaning.
"""

import sys

if 1 - 1:  # for type checkers
    from collections.abc import Iterator


class WordList:
    """An enumeration as one text, for words that a shoe uses rarely: a tuple takes five times the
    heap. It may be used like a tuple otherwise."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __len__(self) -> int:
        return len(self._text.split())

    def __getitem__(self, place: int) -> str:
        return self._text.split()[place]

    def __iter__(self) -> "Iterator[str]":
        return iter(self._text.split())

    def index(self, word: str) -> int:
        """Return the place of a word, like the method of a tuple."""
        return self._text.split().index(word)


def word_list(text: str) -> "tuple[str, ...]":
    """Return an enumeration of the words in `text`: a tuple, on a board a WordList. A host reads
    words of every event, and has the memory."""
    if sys.implementation.name == "micropython":
        return WordList(text)  # type: ignore[return-value]
    return tuple(text.split())


RESET_CAUSES = word_list("power_on watchdog software reset_pin unknown command error memory")
"""Why a shoe started. `power_on`: the power came, or was too low for a moment. `watchdog`: it hung,
or a part of its work had stopped. `command`: a host had asked for it, or an update. `error`: an
error in the firmware. `memory`: it had no memory left. `software`: the program asked for it, and it
is not known why."""

BUTTONS = ("next", "reveal", "void", "burn")
"""The dealer's buttons. `next` is "next round" and "no more bets", whichever is due."""

SWITCHES = ("lid_open", "key_on", "service_on")
"""Level inputs: the lid switch, the supervisor's key, the service switch inside the lid."""

LAMPS = ("player", "banker", "tie", "ready", "error")

PHASES = ("no_shoe", "first_burn", "burning", "between", "betting", "dealing", "ended")
"""The phases of a shoe of cards; see sabot_firmware/table/shoe_of_cards.py."""

POSITIONS = word_list(
    "burn_first burn "
    "player_1 banker_1 player_2 banker_2 player_3 banker_3 "
    "not_due "
    "box_1 box_2 box_3 box_4 box_5 box_6 box_7 dealer hole "
    "seat_1 seat_2 seat_3 seat_4 seat_5 seat_6 seat_7 seat_8 seat_9 seat_10 "
    "board_burn flop turn river"
)
"""The positions of a card. `not_due`: it came out although the lock should have held it. The third
line is blackjack's: a card to a box, to the dealer face up, and the dealer's card face down. The
last two are hold'em's: a player's card, a card burned before the board, the board."""

HANDS = ("player", "banker")
ACTIONS = ("draws", "stands", "natural")
WINNERS = ("player", "banker", "tie")
HITS = word_list(
    "player_pair banker_pair dragon_7 panda_8 fortune_7 golden_8 heavenly_9 "
    "heavenly_9_both blazing_7s_two blazing_7s_three"
)
"""Results of a round, besides its winner, on which wagers depend. Pair: the first two cards of a
hand have the same rank. Dragon 7, Fortune 7: the Banker wins with 7 in three cards. Panda 8,
Golden 8: the Player wins with 8 in three cards. Heavenly 9: exactly one hand has 9 in three cards,
or both have. Blazing 7s: both hands have 7 in two cards, or both in three."""

PLAY_ACTIONS = word_list("stands doubles splits surrenders")
"""What a hand of blackjack does, besides drawing a card."""
OUTCOMES = word_list("wins loses pushes blackjack surrendered")
"""The result of a hand of blackjack. `blackjack`: it wins with one."""

CLOSED_BY = ("button", "card")

FAULTS = word_list(
    "none double_feed pushed_back reversed no_code bad_code foreign_set jam sensor_fault power_lost"
)
"""Why a pass through the sensor head was not read as a card (card code specification).
`power_lost`: the power went while a card passed."""

ERRORS = word_list(
    "none card_not_due unreadable lid_opened cut_card_misplaced test_card "
    "surplus_copy card_too_many cards_missing sensor_fault samples_lost journal_full "
    "no_random power_was_off lock_stuck supply_low"
)
"""What stops play until the supervisor's key clears it.

`surplus_copy`: more copies of a card than decks; `sensor_fault`: a channel of the head cannot be
right although no card passes; `samples_lost`: the head was not read in time; `journal_full`: events
that no host has acknowledged fill the journal; `no_random`: cards would lie face down, and the
unit's randomness has had no bytes of a host yet; `power_was_off`: no one knows what happened to the
cards meanwhile; `lock_stuck`: the bolt does not follow the lock's output; `supply_low`: the supply
falls, so that nothing may be written.
"""

RESOLUTIONS = word_list("entered as_read drawn_again unseen void")
"""The supervisor's decision about a card that stopped play: entered from its face; taken as it was
read; put aside or left in the shoe, and the next card drawn in its place; left face down, unseen;
the round voided."""

CHANNELS = ("e", "a", "b", "x")
"""The four outputs of the sensor head, in the order of their bits."""

VOID_REASONS = word_list("supervisor unreadable restart misdeal")
"""Why a round is void. `misdeal`: it had its result, and the supervisor called it a misdeal."""
END_REASONS = word_list("cut_card supervisor restart round")
"""Why a shoe of cards has ended. `round`: it was shuffled for one round, which has ended."""
STREETS = word_list("preflop flop turn river")
"""The rounds of betting of a hand of hold'em, by the cards of the board that are dealt."""
GAP_REASONS = word_list("queue_full restart journal_damaged")
JOURNAL_FAULTS = word_list("erase_failed program_failed damaged")
"""The faults of a sector of the journal. `damaged`: its content has changed since the write."""

SELF_TESTS = word_list("journal code display samples")
"""The self-tests of a shoe. `journal`: its chip returns the newest event; `code`: the files on
flash are those that were signed; `display`: it answers; `samples`: the sensor head sends them."""

UPDATE_STAGES = word_list("idle head checking code staged refused on_trial restarting")
"""The stages of an update. `idle`: there is none; `head`, `code`: the shoe expects that part next;
`checking`: the shoe checks what came; `staged`: the release is complete and is tried at the next
start; `refused`: the release was refused; `on_trial`: it runs and must be confirmed; `restarting`:
the shoe restarts to take a release."""

REFUSALS = word_list(
    "none in_play mid_shoe no_service full no_slot clock_old clock_far not_held not_kept "
    "past_end bad_size bad_part bad_order invalid needs_key has_keys other_unit bad_flash "
    "not_signed not_proven no_command wrong_mac closed replayed not_a_unit updating no_update "
    "on_trial no_trial no_key not_ours bad_head bad_board old_python older damaged no_heap "
    "used_chip no_ghost sealed not_random"
)
"""Why a command or a release is refused; README.md, "Refusals", explains each. `none`: it is not
refused."""

RANDOM_SOURCES = word_list("oscillator adc timer system")
"""What a unit takes random samples from. `oscillator`: the random bit of the chip's ring
oscillator; `adc`: the lowest bits of its converter; `timer`: the microsecond at which a sample was
taken; `system`: MicroPython's own generator."""

PROBLEMS = word_list("damaged oversize not_a_message not_proven")
"""Why the device dropped a frame. `not_proven`: the session has no signed command yet."""

ENUMERATIONS: "dict[str, tuple[str, ...]]" = {
    "reset_cause": RESET_CAUSES,
    "button": BUTTONS,
    "switch": SWITCHES,
    "phase": PHASES,
    "position": POSITIONS,
    "hand": HANDS,
    "action": ACTIONS,
    "winner": WINNERS,
    "play_action": PLAY_ACTIONS,
    "outcome": OUTCOMES,
    "closed_by": CLOSED_BY,
    "fault": FAULTS,
    "error": ERRORS,
    "resolution": RESOLUTIONS,
    "channel": CHANNELS,
    "void_reason": VOID_REASONS,
    "end_reason": END_REASONS,
    "street": STREETS,
    "gap_reason": GAP_REASONS,
    "journal_fault": JOURNAL_FAULTS,
    "update_stage": UPDATE_STAGES,
    "refusal": REFUSALS,
    "problem": PROBLEMS,
}
