"""Why a shoe refuses something, for people: the codes are those of `words.REFUSALS`."""

TEXTS = {
    "in_play": "a round is in play: try again between rounds",
    "mid_shoe": "a shoe of cards is in play: try again between shoes of cards, or end it first",
    "no_service": "its service switch is off: open the lid and switch it on",
    "full": "the journal is full: take its events first",
    "no_slot": "this shoe does not run from a slot",
    "clock_old": "that time is past: set the host's clock",
    "clock_far": "that time is far off: set the host's clock",
    "not_held": "event {} is not held",
    "not_kept": "pass {} is not kept any more",
    "past_end": "pass {} has fewer bytes",
    "bad_size": "its size must be 1 to {} bytes",
    "bad_part": "a part is empty, too long or ends after the end",
    "bad_order": "its parts come in order, from offset 0 on",
    "invalid": "{}",
    "needs_key": "this board is no unit yet: it needs a first key",
    "has_keys": "this is {}, with keys of its own: they stay",
    "other_unit": "this is {}, and stays it: its records are that unit's",
    "bad_flash": "the flash of the board takes no more: {}",
    "not_signed": "not signed with the unit's command key",
    "not_proven": "this session is not proven: it has no signed command",
    "no_command": "no command in what was signed",
    "wrong_mac": "its MAC is wrong: another unit's command key?",
    "closed": "a wrong MAC has come: try again in {} s",
    "replayed": "played again: its id is not above the last one",
    "not_a_unit": "this board is no unit yet: provision it",
    "updating": "an update is on its way",
    "no_update": "no release is on its way: ask for an update",
    "on_trial": "a release is on trial: confirm it first",
    "no_trial": "no release is on trial",
    "no_key": "this unit has no key of releases: provision it",
    "not_ours": "not signed by this house: build it with its key",
    "bad_head": "its manifest is not good: {}",
    "bad_board": "it is for another board, this is {}",
    "old_python": "it needs a newer MicroPython than {}",
    "older": "it is older than {}",
    "damaged": "what came is not as it was signed: send it again",
    "no_heap": "its heap has no room for this release: try again",
}


def text_of(refusal: str, detail: str) -> str:
    """One line that says why, and what to do."""
    return TEXTS[refusal].format(detail)
