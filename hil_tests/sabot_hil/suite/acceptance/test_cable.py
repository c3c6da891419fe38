from pathlib import Path

from sabot_hil.capabilities import Target
from sabot_hil.kit import dealer
from sabot_hil.kit.cable import Cable
from sabot_hil.kit.logbook import Logbook

NOISE = 0.05
NOISE_ON_A_PICO = 0.005
"""With 0.05 only one frame in 150 arrives, and a Pico sends 150 in a second."""
ROUNDS_ON_A_NOISY_LINE = 6


def test_a_cable_pulled_in_every_state_of_a_round_loses_and_doubles_nothing(
    target: Target, tmp_path: Path, seed: int
) -> None:
    with (
        Cable(target.shoe.port, tmp_path) as cable,
        Logbook(tmp_path, [cable.port], target.clock) as book,
    ):
        pulled: set[str] = set()
        wanted: list[str] = []

        def pull_once_in_each_state(where: str) -> None:
            if wanted:  # the cable was out during the step before this one
                wanted.clear()
                before = len(book.attachments)
                cable.plug()
                book.wait(lambda: len(book.attachments) > before, "attached again")
            elif where not in pulled:
                pulled.add(where)
                wanted.append(where)
                cable.pull()

        dealing = dealer.BenchDealer(
            target.bench, dealer.shuffled_shoe(seed), pull_once_in_each_state
        )
        dealing.load()
        states = {"betting", "result"} | {f"card {n}" for n in range(1, 7)}
        while not states <= pulled:
            dealing.deal_round()
        if wanted:
            cable.plug()
        book.wait_for_rounds(target.shoe.unit, len(dealing.hands))
        book.check(target.shoe.unit, dealing.hands)


def test_a_line_that_spoils_many_bytes_loses_and_doubles_nothing(
    target: Target, tmp_path: Path, seed: int
) -> None:
    noise = NOISE_ON_A_PICO if target.clock.emulated else NOISE
    with (
        Cable(target.shoe.port, tmp_path, noise=noise, seed=seed) as cable,
        Logbook(tmp_path, [cable.port], target.clock) as book,
    ):
        dealing = dealer.BenchDealer(target.bench, dealer.shuffled_shoe(seed))
        dealing.load()
        for _ in range(ROUNDS_ON_A_NOISY_LINE):
            dealing.deal_round()
        book.wait_for_rounds(target.shoe.unit, ROUNDS_ON_A_NOISY_LINE, timeout_s=120)
        book.check(target.shoe.unit, dealing.hands)
