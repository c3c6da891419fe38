"""A whole shoe and its randomness: a unit from before has no random bytes of a host, and deals no
card face down until it has some."""

import sabot_firmware.buffers  # noqa: F401 - first, as main.py does
from firmware.tests.fakes.fake_flash import RING
from firmware.tests.support.naive_chain import hmac, sha256
from firmware.tests.support.noise import RANDOM
from firmware.tests.support.scripted import (
    KEY_TURNED,
    LID,
    NEXT,
    REVEAL,
    FileFlash,
    again,
    card_samples,
    kinds_of,
    provision,
    recorded,
    started,
)
from firmware.tests.test_sealed_shoe import DEALT, opened, secret_of
from firmware.tests.test_store import Folder
from sabot_firmware.journal.recovery import state_of
from sabot_firmware.link import commands
from sabot_firmware.store import SettingsStore
from sabot_firmware.table import inputs
from sabot_protocol import baccarat, cbor, enums, games, messages

_LOAD = (inputs.switched(LID, True), inputs.switched(LID, False))
_NO_RANDOM = enums.ERRORS.index("no_random")
_WEAK = bytes(range(32))
_SESSION = 77


def _document(shown="after_reveal"):
    document = dict(baccarat.MINI)
    document.update({"name": "midi", "shown": shown, "burn": "none"})
    return games.encode(document)


def _unit(folder, random=None, shown="after_reveal", secret=_WEAK):
    """Return a board and its shoe: a unit that was provisioned without a pool, with the sealing
    secret that older firmware has made."""
    flash = provision(folder, FileFlash(folder, RING), random=random)
    store = SettingsStore(folder.path)
    store.save("game", _document(shown))
    if secret is not None:
        store.save("seal_secret", secret)
    return started(folder, flash)


def _hidden(shoe, data, command_id):
    """Hide bytes as a host does: written from protocol/README.md, "Random numbers"."""
    key = SettingsStore(shoe.board.storage).load("command_key")
    own = sha256(b"sabot host bytes key" + key)
    session = _SESSION.to_bytes(8, "big") + b"\x10" + shoe.guard.challenge
    pad = hmac(own, b"sabot host bytes" + session + command_id.to_bytes(8, "big"))
    return bytes([data[at] ^ pad[at] for at in range(32)])


def _stir(shoe, data=RANDOM, command_id=5):
    """Give the shoe bytes of a host as the command does once its MAC is right."""
    shoe.guard.begin(_SESSION)
    shoe.guard._last_id = command_id
    answer = commands.run(shoe, messages.STIR, [command_id, _hidden(shoe, data, command_id)])
    if answer[0] == messages.REPLY.number:
        return enums.REFUSALS[answer[2]]
    assert answer[0] == messages.STIR_REPORT.number
    return answer[2:]


def _tick(shoe):
    """Do what the shoe does every 50 ms."""
    shoe.tend_randomness()
    shoe.journal.drain()


def test_a_unit_without_bytes_of_a_host_deals_no_card_face_down_and_says_so():
    with Folder() as folder:
        board, shoe = _unit(folder)
        board.play(shoe, *_LOAD)
        lines = board.text.split("\n")
        assert lines[0] == "STOP" and lines[5:7] == ["NO RANDOM BYTES", "ATTACH A HOST"], lines
        assert not shoe.dealing.lock_released() and kinds_of(shoe).count("error") == 1
        assert shoe.heartbeat(0)[3] == _NO_RANDOM
        _tick(shoe)
        assert secret_of(folder) == _WEAK, "a new one would be no better"
        board.play(shoe, *KEY_TURNED)
        assert shoe.dealing.error == _NO_RANDOM, "the supervisor cannot deal without them"
        board.play(shoe, card_samples("4C"))
        assert "seal" not in kinds_of(shoe) and "sealed_card" not in kinds_of(shoe)


def test_with_the_first_bytes_of_a_host_it_deals_on_by_itself_under_a_new_secret():
    with Folder() as folder:
        board, shoe = _unit(folder)
        board.play(shoe, *_LOAD)
        assert _stir(shoe) == [True, 0]
        _tick(shoe)
        secret = secret_of(folder)
        assert not shoe.dealing.error and secret != _WEAK
        assert kinds_of(shoe)[-2:] == ["error_cleared", "lock"] and shoe.dealing.lock_released()
        board.play(shoe, *[card_samples(name) for name in DEALT], REVEAL)
        assert opened(recorded(shoe)) == DEALT
        key = next(values[0] for kind, values in recorded(shoe) if kind == "unsealed")
        number = kinds_of(shoe).index("seal") + 1
        assert key == hmac(secret, b"sabot round" + number.to_bytes(8, "big"))
        board, shoe = again(folder, board)
        assert shoe.randomness.has_host_bytes and not shoe.dealing.error
        assert _stir(shoe) == [False, 0]


def test_a_round_that_an_update_met_ends_as_it_began_and_the_next_one_waits():
    """The release before has dealt four cards; play had stopped for one, so it could be updated."""
    with Folder() as folder:
        board, shoe = _unit(folder)
        shoe.acting.held = False
        shoe._secret_is_weak = False  # as firmware without a pool
        shoe.acting.end_hold()
        board.play(shoe, *_LOAD, *[card_samples(name) for name in DEALT[:4]])
        assert "seal" in kinds_of(shoe) and not shoe.dealing.error
        board, shoe = again(folder, board)
        assert not shoe.dealing.error and shoe.dealing.sealed and shoe.dealing.lock_released()
        board.play(shoe, *[card_samples(name) for name in DEALT[4:]], REVEAL)
        assert opened(recorded(shoe)) == DEALT
        assert shoe.dealing.error == _NO_RANDOM
        board.play(shoe, NEXT, card_samples("4C"))
        assert kinds_of(shoe).count("seal") == 1
        _stir(shoe)
        _tick(shoe)
        assert not shoe.dealing.error and secret_of(folder) != _WEAK
        board.play(shoe, KEY_TURNED[0], inputs.pressed(2), KEY_TURNED[1], NEXT)


def test_bytes_that_come_in_the_middle_of_a_round_renew_the_secret_after_it():
    with Folder() as folder:
        board, shoe = _unit(folder)
        shoe.acting.held = False
        shoe._secret_is_weak = False
        shoe.acting.end_hold()
        board.play(shoe, *_LOAD, *[card_samples(name) for name in DEALT[:4]])
        board, shoe = again(folder, board)
        _stir(shoe)
        _tick(shoe)
        assert secret_of(folder) == _WEAK and shoe.dealing.sealed
        shoe.journal.drain()
        board, shoe = again(folder, board)
        assert not shoe.randomness.has_host_bytes, "kept only once no round is under the old one"
        _stir(shoe)
        board.play(shoe, *[card_samples(name) for name in DEALT[4:]], REVEAL)
        _tick(shoe)
        assert opened(recorded(shoe)) == DEALT and not shoe.dealing.error
        assert secret_of(folder) != _WEAK
        board, shoe = again(folder, board)
        assert shoe.randomness.has_host_bytes


def test_a_unit_that_deals_face_up_is_not_stopped_until_such_a_game_is_loaded():
    with Folder() as folder:
        board, shoe = _unit(folder, shown="at_once")
        board.play(shoe, *_LOAD, *[card_samples(name) for name in DEALT])
        assert not shoe.dealing.error and "result" in kinds_of(shoe)
    for has_bytes in (False, True):
        board = shoe = None  # no board has the memory for two shoes
        with Folder() as folder:
            board, shoe = _unit(folder, shown="at_once")
            if has_bytes:
                _stir(shoe)
                _tick(shoe)
            document = _document()
            for at in range(0, len(document), 400):
                part = [9, at, len(document), document[at : at + 400]]
                assert commands.run(shoe, messages.LOAD_GAME, part)[2] == 0
            assert (shoe.dealing.error == _NO_RANDOM) == (not has_bytes)
            assert (secret_of(folder) == _WEAK) == (not has_bytes), "not the one from before"
            board.play(shoe, *_LOAD, card_samples("4C"))
            assert ("seal" in kinds_of(shoe)) == has_bytes


def test_bytes_that_are_not_random_are_refused_and_count_for_nothing():
    with Folder() as folder:
        _, shoe = _unit(folder)
        for data in (bytes(32), b"\xff" * 32, b"ab" * 16):
            assert _stir(shoe, data) == "not_random"
        answer = commands.run(shoe, messages.STIR, [6, bytes(31)])
        assert enums.REFUSALS[answer[2]] == "not_random"
        assert not shoe.randomness.has_host_bytes and shoe.dealing.error == _NO_RANDOM


def test_a_release_on_trial_does_not_stop_play_since_the_one_before_knows_no_such_stop():
    with Folder() as folder:
        board, shoe = _unit(folder)
        board, shoe = again(folder, board)
        shoe.running.on_trial = True
        shoe.dealing.error = 0
        board.play(shoe, *_LOAD)
        _tick(shoe)
        assert not shoe.dealing.error and shoe.acting.held
        shoe.running.on_trial = False
        _tick(shoe)
        assert shoe.dealing.error == _NO_RANDOM, "before a card can come"


def test_an_update_leaves_nothing_in_the_journal_that_older_firmware_does_not_know():
    with Folder() as folder:
        board, shoe = _unit(folder)
        board.play(shoe, *_LOAD)
        shoe.running.has_slot = True
        shoe.running.ask_for_update = lambda: None
        commands.run(shoe, messages.UPDATE, [5, 600])
        _tick(shoe)
        board.play(shoe, NEXT, *KEY_TURNED)
        assert not shoe.dealing.lock_released() and kinds_of(shoe)[-1] == "error_cleared"
        entries = []
        shoe.journal.each_since_state(lambda kind, payload: entries.append((kind, bytes(payload))))
        states = [cbor.decode(entry, 0, len(entry)) for kind, entry in entries if kind == 3]
        notes = [cbor.decode(entry, 0, len(entry)) for kind, entry in entries if kind == 2]
        assert states[-1][3][0][3] == 0, "no error is kept"
        assert not [note for note in notes if note[0] > 9], notes
        assert len(SettingsStore(folder.path).load("update_pool")) == 32
        board, shoe = again(folder, board)
        assert shoe.dealing.error == _NO_RANDOM


def test_after_a_loss_of_power_the_stop_is_still_there_and_ends_with_bytes():
    with Folder() as folder:
        board, shoe = _unit(folder)
        board.play(shoe, *_LOAD)
        shoe.journal.drain()
        before = state_of(shoe.dealing)
        board, shoe = again(folder, board)
        assert state_of(shoe.dealing) == before and "NO RANDOM BYTES" in board.text
        _stir(shoe)
        _tick(shoe)
        assert not shoe.dealing.error
        shoe.journal.drain()
        board, shoe = again(folder, board)
        assert not shoe.dealing.error and shoe.dealing.lock_released()


def test_a_unit_with_bytes_of_a_host_is_never_stopped_and_renews_its_secret_at_each_start():
    with Folder() as folder:
        board, shoe = _unit(folder, random=RANDOM, secret=None)
        secrets = [secret_of(folder)]
        for _ in range(3):
            _tick(shoe)
            secrets.append(secret_of(folder))
            board, shoe = again(folder, board)
            assert "error" not in kinds_of(shoe)
        assert len(set(secrets)) == 4


def test_after_a_round_its_times_and_new_samples_are_in_the_pool():
    given = set()
    for rounds in range(2):
        with Folder() as folder:
            board, shoe = _unit(folder, random=RANDOM, secret=None)
            _tick(shoe)
            board.play(shoe, *_LOAD, *[card_samples(name) for name in DEALT], *[REVEAL] * rounds)
            shoe.randomness._times[:] = bytes(32)
            shoe.randomness._pool[:] = bytes(32)
            _tick(shoe)
            given.add(shoe.randomness.take(b"challenge"))
    assert len(given) == 2
