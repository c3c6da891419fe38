"""The whole shoe on a scripted board, with cards that lie face down: what leaves it, what it keeps,
and how what it sealed is opened. The opening is written from protocol/README.md, "Sealed cards"."""

import sabot_firmware.buffers  # noqa: F401 - first, as main.py does
from firmware.tests.support.naive_chain import hmac, sha256
from firmware.tests.support.passing import E, X
from firmware.tests.support.scripted import (
    KEY_TURNED,
    LOAD,
    REVEAL,
    VOID,
    again,
    card_samples,
    dealing,
    kinds_of,
    recorded,
    round_key,
    started,
)
from firmware.tests.test_store import Folder
from protocol.tests.helpers import raised
from sabot_firmware.link import commands
from sabot_firmware.store import SettingsStore
from sabot_firmware.table import inputs
from sabot_protocol import baccarat, cards, enums, messages

DEALT = ("4C", "2D", "AC", "2H", "2S", "3H")
_DEALING_ROUND = enums.PHASES.index("dealing")


def _midi(folder, **house):
    """Return a board and its shoe, a new unit that deals midi without a burn."""
    document = dict(baccarat.MINI)
    document.update({"name": "midi", "shown": "after_reveal", "burn": "none", "house": house})
    return dealing(folder, document)


def dealt(folder, *names, **house):
    board, shoe = _midi(folder, **house)
    board.play(shoe, *LOAD, *[card_samples(name) for name in names])
    return board, shoe


def opened(events):
    """Return the names of the sealed cards among `events`, in order, opened with their key."""
    key = next(values[0] for kind, values in events if kind == "unsealed")
    commitment = next(values[0] for kind, values in events if kind == "seal")
    assert sha256(b"sabot seal" + key) == commitment
    names = []
    for kind, values in events:
        if kind == "sealed_card":
            place, sealed = values[:2]
            assert place == len(names)
            pad = hmac(key, b"sabot card" + bytes([place]))
            card = [sealed[i] ^ pad[i] for i in range(16)]
            assert card[1:] == [0] * 15
            names.append(cards.name_of(card[0]))
    return tuple(names)


def secret_of(folder):
    return SettingsStore(folder.path).load("seal_secret")


def test_a_shoe_that_is_emptied_within_a_round_seals_its_last_card_as_its_first():
    """The 257th card had no place: the shoe stopped at it, and at each start after it."""
    with Folder() as folder:
        board, shoe = dealt(folder, *DEALT)
        seals = shoe.recorder.seals
        seals.count = 255
        board.play(shoe, *[card_samples(name) for name in ("5C", "6C", "7C")])
        assert seals.count == 258
        board, shoe = again(folder, board)
        assert shoe.recorder.seals.count == 258
        board.play(shoe, card_samples("8C"))
        key = shoe.recorder.seals.round_key()
        found = [v[:2] for kind, v in recorded(shoe) if kind == "sealed_card"][len(DEALT) :]
        assert [place for place, _ in found] == [255, 256, 257, 258]
        for at in range(4):
            sealed = found[at][1]
            pad = hmac(key, b"sabot card" + (b"\xff" if at == 0 else bytes([1, at - 1])))
            card = [sealed[i] ^ pad[i] for i in range(16)]
            assert cards.name_of(card[0]) == ("5C", "6C", "7C", "8C")[at]
            assert card[1:] == [0] * 15


def test_the_key_that_is_recorded_at_the_reveal_opens_the_cards_that_were_dealt():
    with Folder() as folder:
        board, shoe = dealt(folder, *DEALT)
        kinds = kinds_of(shoe)
        assert kinds.index("seal") == kinds.index("betting_closed") + 1
        assert kinds.count("sealed_card") == 6 and "card" not in kinds
        assert "decision" not in kinds and "result" not in kinds and "unsealed" not in kinds
        board.play(shoe, REVEAL)
        after = kinds_of(shoe)[len(kinds) :]
        assert after == ["button", "unsealed", "decision", "decision", "result"], after
        assert opened(recorded(shoe)) == DEALT


def test_every_round_has_a_key_of_its_own_which_only_the_secret_gives():
    with Folder() as folder:
        board, shoe = dealt(folder, *DEALT)
        board.play(shoe, REVEAL, inputs.pressed(0), *[card_samples(name) for name in DEALT])
        board.play(shoe, REVEAL)
        events = recorded(shoe)
        keys = [values[0] for kind, values in events if kind == "unsealed"]
        assert keys[0] != keys[1]
        begun = [at for at in range(len(events)) if events[at][0] == "seal"]
        for at in range(2):
            number = begun[at] + 1
            assert keys[at] == round_key(secret_of(folder), number)
        assert opened(events[begun[1] :]) == DEALT


def test_nothing_that_a_host_can_ask_tells_of_a_sealed_card():
    with Folder() as folder:
        board, shoe = dealt(folder, *DEALT[:2])
        for shape, given in (
            (messages.HEALTH, ()),
            (messages.NEXT_PASS, (0,)),
            (messages.READ_PASS, (1, 0)),
        ):
            answer = commands.run(shoe, shape, [7] + list(given))
            assert answer[0] == messages.REPLY.number, shape.name
            assert enums.REFUSALS[answer[2]] == "sealed", shape.name
        board.play(shoe, *[card_samples(name) for name in DEALT[2:]], REVEAL)
        answer = commands.run(shoe, messages.NEXT_PASS, [8, 0])
        assert answer[0] == messages.PASS_REPORT.number and answer[5] == cards.number_of("4C")
        assert commands.run(shoe, messages.HEALTH, [9])[0] == messages.HEALTH_REPORT.number


def test_cards_that_are_never_to_be_known_are_forgotten_by_the_passes_too():
    for house, kept in (({}, True), ({"voided_cards": "never"}, False)):
        with Folder() as folder:
            board, shoe = dealt(folder, *DEALT[:2], **house)
            board.play(shoe, KEY_TURNED[0], VOID, KEY_TURNED[1])
            assert (shoe.passes.first_after(0) is not None) == kept
            card = commands.run(shoe, messages.NEXT_PASS, [8, 0])[5]
            assert card == (cards.number_of("4C") if kept else None)


def _seen_cards(shoe):
    report = commands.run(shoe, messages.HEALTH, [9])
    assert report[0] == messages.HEALTH_REPORT.number
    return report[2], report[3:7]


def test_the_means_of_the_sensors_take_sealed_cards_once_they_show_and_never_if_they_do_not():
    """The difference of two means tells how wide the marks of a card were seen."""
    wide = [card_samples(name, 2600) for name in DEALT]
    for house, end, count in (
        ({}, (REVEAL,), 6),
        ({}, (KEY_TURNED[0], VOID, KEY_TURNED[1]), 6),
        ({"voided_cards": "never"}, (KEY_TURNED[0], VOID, KEY_TURNED[1]), 0),
    ):
        with Folder() as folder:
            board, shoe = _midi(folder, **house)
            before = _seen_cards(shoe)
            board.play(shoe, *LOAD, *wide)
            assert (shoe.health.cards, shoe.health.mean_permille(1)) == (0, 1000)
            board.play(shoe, *end)
            board.play(shoe, bytes(40))
            after = _seen_cards(shoe)
            assert after[0] == count and (after != before) == (count > 0), (house, after)


def test_a_long_pass_of_a_sealed_card_does_not_name_it():
    with Folder() as folder:
        board, shoe = _midi(folder)
        covered = bytes([E | X | (E | X) << 4])
        samples = card_samples("9C")
        at = bytes(samples).rfind(covered)
        board.play(shoe, *LOAD, samples[:at] + covered * 14 + samples[at:])
        kind, values = recorded(shoe)[-1]
        assert kind == "long_pass" and values[0] is None and values[1] > 1500


def test_the_events_of_a_sealed_pass_have_no_figure_that_depends_on_the_marks():
    with Folder() as folder:
        board, shoe = dealt(folder, *DEALT[:2])
        torn = card_samples("9C")
        board.play(shoe, torn[: len(torn) // 4])
        board.play(shoe, bytes(4000))
        sealed = [values[3:7] for kind, values in recorded(shoe) if kind == "sealed_card"]
        stopped = [values[2:6] for kind, values in recorded(shoe) if kind == "unreadable"]
        assert len(sealed) == 2 and len(stopped) == 1, kinds_of(shoe)
        for _speed_mm_s, margin_permille, skew_um, samples in sealed + stopped:
            assert margin_permille == skew_um == 0 and samples > 0
        assert sealed[0][0] > 0


def test_the_display_and_the_lamps_say_nothing_of_a_sealed_card():
    with Folder() as folder:
        board, shoe = _midi(folder)
        board.play(shoe, *LOAD)
        board.outputs.clear()
        board.play(shoe, *[card_samples(name) for name in DEALT])
        assert len(board.outputs) < 4, board.outputs
        assert shoe.dealing.phase == _DEALING_ROUND


def test_a_journal_of_another_board_is_not_guessed_at():
    with Folder() as folder:
        board, _shoe = dealt(folder, *DEALT[:2])
        SettingsStore(folder.path).save("seal_secret", bytes(32))
        assert raised(Exception, again, folder, board)


def test_a_shoe_that_deals_no_card_face_down_makes_no_secret():
    with Folder() as folder:
        board, shoe = started(folder)
        board.play(shoe, *LOAD, card_samples("AC"), card_samples("2C"), card_samples("9C"))
        assert shoe.sealing is None and secret_of(folder) is None
        assert kinds_of(shoe)[-1] == "card"
