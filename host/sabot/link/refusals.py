"""The texts of refusals for people, by the codes in `enums.REFUSALS`."""

from sabot.link.words import UnknownWord
from sabot.text import shortened

_MOST_DETAIL = 120

TEXTS = {
    "in_play": "a round is in play: try again between rounds",
    "mid_shoe": "a shoe of cards is in play: try again between shoes of cards, or end it first",
    "no_service": "its service switch is off: open the lid and switch it on",
    "full": "the journal is full: take its events first",
    "no_slot": "this shoe does not run from a slot; of simulated ones only those of "
    "`sabot sim --bare` do",
    "clock_old": "that time is past: set the host's clock",
    "clock_far": "that time is far off: set the host's clock",
    "not_held": "event {} is not held",
    "not_kept": "pass {} is not kept any more",
    "past_end": "pass {} has fewer bytes",
    "bad_size": "its size must be 1 to {} bytes",
    "bad_part": "a part is empty, too long, or ends after the end of the document",
    "bad_order": "its parts must come in order from offset 0",
    "invalid": "{}",
    "needs_key": "this board is not a unit yet: it needs a first key",
    "has_keys": "this board is {} and keeps its own keys",
    "other_unit": "this board is {}: a unit cannot get another id",
    "bad_flash": "writing to the board's flash failed: {}",
    "not_signed": "not signed with the unit's command key",
    "not_proven": "this session is not proven: it has no signed command yet",
    "no_command": "the signed message holds no command",
    "wrong_mac": "its MAC is wrong: another unit's command key?",
    "closed": "a wrong MAC came shortly before: try again in {} s",
    "replayed": "replayed: its id is not above the last one",
    "not_a_unit": "this board is not a unit yet: provision it",
    "updating": "an update is in progress: try again after it",
    "no_update": "no update is in progress: begin one",
    "on_trial": "a release is on trial: confirm it first",
    "no_trial": "no release is on trial",
    "no_key": "this unit has no key for releases: provision it",
    "not_ours": "not signed by this house: build it with the house's key",
    "bad_head": "its manifest is not valid: {}",
    "bad_board": "it is for another board, not for {}",
    "old_python": "it needs a newer MicroPython than {}",
    "older": "it is older than {}, which runs",
    "damaged": "its files are not those that were signed: send it again",
    "used_chip": "its journal's chip has the events of a unit: put in a blank chip",
    "no_ghost": "no ghost hand: {}",
    "sealed": "cards lie face down that it would tell: ask again when the round is over",
    "not_random": "the random bytes of this host are not random: look at the host",
    "no_heap": "the heap has no room for this release: try again",
}


def text_of(refusal: str, detail: str) -> str:
    """Return one line for a refusal: the reason, and what to do."""
    detail = shortened(detail, _MOST_DETAIL)
    if isinstance(refusal, UnknownWord):
        return f"for reason {refusal.number}, which this host does not know: update it ({detail})"
    return TEXTS[refusal].format(detail)
