"""A shoe with sealed cards, over a loss of power at every card.

Two whole shoes need more heap than a board has, so this runs under CPython only.
"""

from firmware.tests.support.scripted import REVEAL, again, card_samples, kinds_of, recorded
from firmware.tests.test_sealed_shoe import DEALT, dealt, opened, secret_of
from firmware.tests.test_store import Folder
from sabot_firmware.journal.recovery import state_of


def test_after_a_loss_of_power_at_every_card_the_round_is_dealt_on_and_opened() -> None:
    for cut in range(len(DEALT) + 1):
        with Folder() as folder:
            board, shoe = dealt(folder, *DEALT[:cut])
            secret, before = secret_of(folder), state_of(shoe.dealing)
            board, shoe = again(folder, board)
            assert state_of(shoe.dealing) == before
            shoe.renew_secret()
            assert secret_of(folder) == secret, "a card may come, or is sealed"
            board, shoe = again(folder, board)
            board.play(shoe, *[card_samples(name) for name in DEALT[cut:]], REVEAL)
            assert opened(recorded(shoe)) == DEALT, cut
            assert kinds_of(shoe)[-1] == "result"
            shoe.renew_secret()
            renewed = secret_of(folder)
            assert renewed != secret
            shoe.renew_secret()
            assert secret_of(folder) == renewed, "once after a start"
            board, shoe = again(folder, board)
            assert shoe.dealing.current_round.winner >= 0
