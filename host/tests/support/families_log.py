"""Records of evenings of all families of games, ended anywhere, for tests of what lists them."""

import random
from collections.abc import Mapping

from host.tests.support.dealt_boxes import BoxLog
from host.tests.support.hand_log import HandLog
from host.tests.support.helpers import FirmwareLog, shuffled_names
from sabot.games.baccarat import catalogue
from sabot.log.store import Store
from sabot_firmware.table.dealing import KEY
from sabot_protocol import enums

_VOID = enums.BUTTONS.index("void")
GAMES = {
    "MINI": "mini", "PAIRS": "mini-pairs", "EZ": "ez-mini", "MIDI": "md-midi", "PA": "pa-midi",
}  # fmt: skip


def evenings(rng: random.Random) -> dict[str, FirmwareLog]:
    """An evening of each game by the unit that deals it. OLD's game document is in no log, and its
    firmware seals no cards: they may not be known before the reveal."""
    found: dict[str, FirmwareLog] = {
        unit: _baccarat(rng, catalogue.document(game), "0.2.0") for unit, game in GAMES.items()
    }
    found["OLD"] = _baccarat(rng, catalogue.document("mini", {"decks": 6}), "0.1.0")
    boxes = BoxLog({"shown": "at_once"})
    boxes.load()
    for _ in range(rng.randint(3, 9)):
        boxes.round(rng.randint(1, 7), rng)
    boxes.give("next")
    boxes.act([*boxes.dealing.switched(KEY, True), *boxes.dealing.pressed(_VOID)])
    found["BOXES"] = boxes
    hands = HandLog().seat(4).play("key+ void key-")
    for _ in range(rng.randint(2, 5)):
        hands.deal_random(rng)
    found["HANDS"] = hands
    return found


def keep_games(store: Store, logs: Mapping[str, FirmwareLog]) -> None:
    """Keep the game documents of all but OLD."""
    for unit, log in logs.items():
        if unit != "OLD":
            store.keep_game(log.dealing.game.document)


def _baccarat(rng: random.Random, document: bytes, firmware: str) -> FirmwareLog:
    log = FirmwareLog(game=document, firmware=firmware)
    for _ in range(rng.randint(1, 2)):
        deck = shuffled_names(rng.randrange(1 << 20), cut_from_end=rng.randint(300, 395))
        log.deal_shoe(deck)
        if rng.random() < 0.4:
            log.power_on(clock=rng.random() < 0.6)
    log.load()
    for name in shuffled_names(rng.randrange(1 << 20))[: rng.randint(0, 40)]:
        while log.betting_due():
            log.draw("next")
            if log.dealing.current_round.card_first:
                break
        within = len(log.dealing.current_round.player) == 1
        if within and rng.random() < 0.2 and name != "CUT":
            log.draw("blank", "!" + name)
        else:
            log.draw(name)
        if log.reveal_due() and rng.random() < 0.9:
            log.draw("reveal")
        if not log.reveal_due() and log.betting_due() and rng.random() < 0.1:
            log.draw("misdeal")
    return log
