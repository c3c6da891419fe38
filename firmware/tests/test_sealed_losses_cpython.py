"""A shoe with sealed cards, over a loss of power at every card.

Two whole shoes need more heap than a board has, so this runs under CPython only.
"""

from firmware.tests.support.scripted import (
    REVEAL,
    again,
    card_samples,
    events_from,
    kinds_of,
    recorded,
)
from firmware.tests.test_sealed_shoe import DEALT, dealt, opened, secret_of
from firmware.tests.test_store import Folder
from sabot_firmware.boards.nor import PAGE, SECTOR
from sabot_firmware.journal import keyring
from sabot_firmware.journal.cursor import Cursor
from sabot_firmware.journal.recovery import state_of
from sabot_firmware.shoe import Shoe


def test_after_a_loss_of_power_at_every_card_the_round_is_dealt_on_and_opened() -> None:
    for cut in range(len(DEALT) + 1):
        with Folder() as folder:
            board, shoe = dealt(folder, *DEALT[:cut])
            secret, before = secret_of(folder), state_of(shoe.dealing)
            board, shoe = again(folder, board)
            assert state_of(shoe.dealing) == before
            shoe.maintain_seals()
            assert secret_of(folder) == secret, "a card may come, or is sealed"
            board, shoe = again(folder, board)
            board.play(shoe, *[card_samples(name) for name in DEALT[cut:]], REVEAL)
            assert opened(recorded(shoe)) == DEALT, cut
            assert kinds_of(shoe)[-1] == "result"
            shoe.maintain_seals()
            renewed = secret_of(folder)
            assert renewed != secret
            shoe.maintain_seals()
            assert secret_of(folder) == renewed, "once after a start"
            board, shoe = again(folder, board)
            assert shoe.dealing.current_round.winner >= 0


def _lose_from(shoe: Shoe, number: int) -> None:
    """Flip a bit of this event on the chip, so that it and what comes after it cannot be read."""
    journal = shoe.journal
    journal.drain()
    cursor = Cursor(journal)
    assert cursor.seek(number) and cursor.next()
    record = bytes(cursor.record)
    begin = (keyring.SECTORS + cursor.sector) * SECTOR
    window = bytearray(2 * PAGE)
    for address in range(begin, begin + SECTOR - PAGE, PAGE):
        shoe.board.flash.read(address, memoryview(window))
        at = bytes(window).find(record)
        if at >= 0:
            shoe.board.flash.flip(address + at)
            return
    raise AssertionError("the event is not on the chip")


def test_a_lost_round_is_opened_or_never_to_be_known_by_the_choice_of_the_house() -> None:
    for house, length in (({}, 32), ({"voided_cards": "never"}, 0)):
        with Folder() as folder:
            board, shoe = dealt(folder, *DEALT[:4], **house)
            number = shoe.journal.number
            third = [n for n, kind in enumerate(kinds_of(shoe), 1) if kind == "sealed_card"][2]
            _lose_from(shoe, third)
            board, shoe = again(folder, board)
            after = events_from(shoe, number)
            kinds = [kind for kind, _ in after]
            at = kinds.index("unsealed")
            assert at < kinds.index("shoe_ended") and len(after[at][1][0]) == length, kinds
            if length:
                held = events_from(shoe, 1, third - 1) + after
                assert opened(held) == DEALT[:2]
            board, shoe = again(folder, board)
            assert [kind for kind, _ in events_from(shoe, number)].count("unsealed") == 1
