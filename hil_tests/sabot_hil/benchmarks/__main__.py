"""`make bench`: measures, prints a table, and writes build/bench.json."""

import os
import platform
import subprocess
import tempfile
import time
import tty
from collections.abc import Callable, Sequence
from pathlib import Path

import cbor2
import numpy as np
from rich.console import Console
from rich.table import Table

import sabot_hil
from sabot.errors import ImageUnusable
from sabot.games.baccarat.catalogue import document
from sabot.games.baccarat.odds import odds
from sabot.link import wire
from sabot.link.client import Client
from sabot.link.messages import StatusCommand
from sabot.link.ports import Port
from sabot.link.session import Record
from sabot.log.logger import Logger, LogWatcher
from sabot.log.store import open_store
from sabot.release.compiling.modules import modules_of
from sabot.sim import waveform
from sabot.sim.dealer import Dealer
from sabot.sim.deck import shuffled
from sabot.sim.disturbed import NOISE, noisy_pass
from sabot.sim.process import HEAP_BYTES, SimulatedShoe, environment, interpreter
from sabot.sim.waveform import SAMPLE_RATE_HZ
from sabot_hil.benchmarks import Benchmark, emulation
from sabot_hil.benchmarks.centre.load import centre_load
from sabot_hil.benchmarks.centre.storing import storing
from sabot_hil.benchmarks.cost_model import decision_us, shares
from sabot_hil.benchmarks.database import BATCH, measure_store
from sabot_hil.benchmarks.device import CARD_EVENT
from sabot_hil.benchmarks.floor.following import following
from sabot_hil.benchmarks.floor.noting import noting
from sabot_hil.benchmarks.floor.screens import screens
from sabot_hil.benchmarks.floor.searching import searches
from sabot_hil.benchmarks.journal import deal_and_count
from sabot_hil.benchmarks.listing import measure_listing
from sabot_hil.benchmarks.sealing import sealing_times_us
from sabot_hil.benchmarks.servicing import on_emulator, on_simulator
from sabot_hil.benchmarks.signature import verification_us
from sabot_hil.benchmarks.targets import rounds_per_min
from sabot_hil.benchmarks.verifying import measure_verifying as verify_long_log
from sabot_hil.kit.runner import output, progress, run, write_figures
from sabot_hil.targets import TargetChoice
from sabot_protocol.baccarat import Game
from sabot_protocol.events import MAC_SIZE
from sabot_protocol.frame import FrameReader

_ROOT = Path(__file__).resolve().parents[3]
_PACKAGES = Path(sabot_hil.__file__).resolve().parent.parent
_SECONDS = 2.0
_SINGLE_COMMITS = 5000
_BATCHES = 200
_ROUNDS_ON_SIM, _ROUNDS_ON_EMULATOR = 30, 3
_AIM_SAMPLES = 10_000_000
_GENERATED = 2000
_FOUND_ENCODE_US, _FOUND_DECODE_US, _FOUND_BYTES = 31.0, 24.0, 2200.0


def codec_figures() -> list[Benchmark]:
    """CBOR on the device: time and memory for one event."""
    measured = _device("codec")
    figures = []
    for what, found_us in (("encode", _FOUND_ENCODE_US), ("decode", _FOUND_DECODE_US)):
        us = measured[f"{what}_us"]
        if "library_encode_us" in measured:
            other_us = measured[f"library_{what}_us"]
            against = f"micropython-lib cbor2, same run: {other_us:.1f} us, {other_us / us:.1f}x"
            other = f"same run: {measured[f'library_{what}_bytes']:.0f} bytes"
        else:
            against = f"micropython-lib cbor2: {found_us:.0f} us as found, {found_us / us:.1f}x"
            other = f"as found: {_FOUND_BYTES:.0f} bytes"
        figures += [
            Benchmark(f"device: {what} an event", us, "us", against),
            Benchmark(
                f"device: {what} an event", measured[f"{what}_bytes"], "bytes allocated", other
            ),
        ]
    return figures


def reader_figures() -> list[Benchmark]:
    """The card reader: its speed under MicroPython, and its share of an RP2040's time, counted."""
    measured = _device("reader")
    aim = f"aim: {_AIM_SAMPLES:,}, {_AIM_SAMPLES // SAMPLE_RATE_HZ} times real time"
    rest_us, pass_us = shares()
    return [
        Benchmark("reader: nominal passes", measured["passes_samples_per_s"], "samples/s", aim),
        Benchmark("reader: rest", measured["rest_samples_per_s"], "samples/s", aim),
        Benchmark(
            "reader: code", measured["code_bytes"], "bytes of heap", "64-bit build, from source"
        ),
        Benchmark("reader: state", measured["state_bytes"], "bytes of heap", "64-bit build"),
        Benchmark(
            "reader on an RP2040, at rest", rest_us, "% of its time", "aim: at most 3; counted"
        ),
        Benchmark(
            "reader on an RP2040, in a pass", pass_us, "% of its time", "aim: at most 25; counted"
        ),
        Benchmark(
            "last mark to lock on an RP2040", decision_us() / 1000, "ms", "at most 5; counted"
        ),
    ]


def generator() -> list[Benchmark]:
    """The generator of passes for the tests, with nominal noise."""
    random = np.random.default_rng(1)

    def make() -> None:
        for _ in range(_GENERATED):
            waveform.pack(noisy_pass(random, NOISE["nominal"], 32, 4, "stroke"))

    speed = _per_second(make, range(_GENERATED))
    return [Benchmark("generator of passes, nominal", speed, "passes/s", "one core")]


def frame_figures() -> list[Benchmark]:
    """Frames of an event from MicroPython through a pseudo-terminal, decoded by the host."""
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    child = subprocess.Popen(
        _micropython("frames"), cwd=_PACKAGES, env=environment(), stdout=theirs
    )
    os.close(theirs)
    reader, count = FrameReader(), 0
    try:
        os.read(ours, 1)
        begin_s = time.perf_counter()
        while time.perf_counter() - begin_s < _SECONDS:
            count += len(reader.feed(os.read(ours, 65536)))
        seconds = time.perf_counter() - begin_s
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    return [Benchmark("frames through the port", count / seconds, "frames/s", "aim: over 20,000")]


def shoe_figures() -> list[Benchmark]:
    """A whole shoe of cards at pace 0, logged, and the heap that the firmware used."""
    with tempfile.TemporaryDirectory() as folder, SimulatedShoe("BENCH") as simulated:
        with open_store(Path(folder) / "log.sqlite", create=True) as store:
            simulated.power_on()
            after_boot = _heap_used(simulated)
            highest = [after_boot]
            rounds: list[object] = []
            watcher = LogWatcher(round_ended=rounds.append)
            logger = Logger(store, [simulated.port], watcher, once=True)
            dealer = Dealer(simulated.bench, shuffled(1), card_set=0, pace=0)
            begin_s = time.perf_counter()
            logger.start()
            dealer.deal()
            logger.wait(60)
            seconds = time.perf_counter() - begin_s
            highest.append(_heap_used(simulated))
    pico = "as 241,600 on a Pico; see firmware/README.md"
    return [
        Benchmark("simulated shoe at pace 0", len(rounds) / seconds, "rounds/s", "a table: 0.02"),
        Benchmark("heap after boot, collected", after_boot, "bytes", f"{HEAP_BYTES} given, {pico}"),
        Benchmark("heap after a shoe, collected", max(highest), "bytes", f"{HEAP_BYTES} given"),
    ]


def heap_high_water() -> list[Benchmark]:
    """The smallest heap with which a whole shoe can be dealt: the memory needed at one time."""
    from sabot.sim import process

    low, high = 100_000, HEAP_BYTES
    given = process.HEAP_BYTES
    try:
        while high - low > 4_000:
            middle = (low + high) // 2
            process.HEAP_BYTES = middle
            if _deals_a_shoe():
                high = middle
            else:
                low = middle
    finally:
        process.HEAP_BYTES = given
    against = f"{HEAP_BYTES} given; smallest heap that deals a whole shoe, to 4,000"
    return [Benchmark("heap high-water mark over a shoe", high, "bytes", against)]


def database() -> list[Benchmark]:
    """Events into SQLite, durable, with one commit each and in batches; and out of it again."""
    records = [_card_record(number) for number in range(1, _SINGLE_COMMITS + BATCH * _BATCHES + 1)]
    with tempfile.TemporaryDirectory(dir=".") as folder:
        rates = measure_store(Path(folder), records[:_SINGLE_COMMITS], records[_SINGLE_COMMITS:])
    share = f"aim: 9,000; {rates.single / rates.bare:.0%} of a bare loop, {rates.bare:,.0f}"
    return [
        Benchmark("events into SQLite, a commit each", rates.single, "events/s", share),
        Benchmark(f"events into SQLite, {BATCH} a commit", rates.batch, "events/s", "aim: 100,000"),
        Benchmark("events derived from records", rates.derived, "events/s", "while no event comes"),
        Benchmark("events out of SQLite, raw", rates.raw, "events/s", "for verify"),
    ]


def journal() -> list[Benchmark]:
    """The journal's use of its chip over a shoe of cards."""
    use = deal_and_count()
    typical_ms, longest_ms = use.durable_ms()
    chip = f"chip time {typical_ms:g} ms, {longest_ms:g} ms at its slowest"
    return [
        Benchmark(
            "journal: erases an event", use.erases_per_event, "erases", "aim: 0.03; littlefs 1.07"
        ),
        Benchmark(
            "journal: programmed an event",
            use.bytes_per_event,
            "bytes",
            "aim: 300; littlefs 2,475",
        ),
        Benchmark("journal: from input to flash, most", use.most_programs, "programs", chip),
        Benchmark("journal: erases while cards are due", use.erases_while_due, "erases", "aim: 0"),
        Benchmark("journal: shoes of cards kept", use.shoes_kept, "shoes", "aim: 100"),
        Benchmark("journal: its sectors last", use.ring_years, "years", "4,000 rounds a day"),
        Benchmark("journal: its key sectors last", use.key_years, "years", "4,000 rounds a day"),
    ]


def verifier() -> list[Benchmark]:
    """`sabot verify` over a long log."""
    done = verify_long_log()
    share = f"{done.per_s / done.bare_per_s:.0%} of a bare loop, {done.bare_per_s:,.0f}"
    what = f"{done.records:,} records, {done.log_bytes / 1e6:,.0f} MB"
    return [
        Benchmark("verify, one core", done.per_s, "records/s", f"aim: 140,000; {share}; {what}"),
        Benchmark(
            "verify, one core, no key", done.unkeyed_per_s, "records/s", "the chain left out"
        ),
        Benchmark("verify, two units at once", done.at_once_per_s, "records/s", "of elapsed time"),
    ]


def listings() -> list[Benchmark]:
    """The commands that go through a long log."""
    return [
        Benchmark(
            f"sabot {each.command}, {each.events:,} events",
            each.per_s,
            "events/s",
            f"first line {each.first_line_s:.1f} s, aim: 1; {each.processor_s:.1f} s of processor"
            f" time, {each.memory_bytes / 1e6:.0f} MB",
        )
        for each in measure_listing()
    ]


def targets() -> list[Benchmark]:
    """The test bench's targets; the emulator only if there is an image of MicroPython."""
    rate = rounds_per_min(TargetChoice("sim"), _ROUNDS_ON_SIM)
    figures = [Benchmark("simulator: with cards, hands and eyes", rate, "rounds/min", "a table: 1")]
    try:
        emulated = rounds_per_min(TargetChoice("emulator"), _ROUNDS_ON_EMULATOR)
        paces = {name: emulation.measured(choice) for name, choice in emulation.CHOICES.items()}
    except (ImageUnusable, ImportError) as why:
        Console(stderr=True).print(f"emulator left out: {why}")
        return figures
    return [
        *figures,
        Benchmark("emulator: the same", emulated, "rounds/min", "a table: 1"),
        *(
            Benchmark(f"{name}: {what}", value, "emulated s/s", "of processor time; a Pico: 1")
            for name, figures_of_it in paces.items()
            for what, value in figures_of_it.items()
        ),
    ]


def signature_figures() -> list[Benchmark]:
    """The check of a release's signature on the chip; only if there is an image of MicroPython."""
    try:
        loading_us, verifying_us = verification_us()
    except (ImageUnusable, ImportError) as why:
        Console(stderr=True).print(f"a signature on the chip left out: {why}")
        return []
    against = f"and {loading_us / 1e6:.1f} to load the module; aim: 2"
    return [Benchmark("a release's signature on the chip", verifying_us / 1e6, "s", against)]


def sealing_figures() -> list[Benchmark]:
    """The sealing of face-down cards on the chip; only if there is an image of MicroPython."""
    try:
        _, committing_us, sealing_us, keeping_us = sealing_times_us()
    except (ImageUnusable, ImportError) as why:
        Console(stderr=True).print(f"sealed cards on the chip left out: {why}")
        return []
    kept = f"once a round {committing_us / 1e3:.1f}, a kept state {keeping_us / 1e3:.1f}"
    return [Benchmark("sealing a card on the chip", sealing_us / 1e3, "ms", f"at most 2; {kept}")]


def servicing() -> list[Benchmark]:
    """The times that a technician waits, on each target."""
    figures = []
    for name, unit, measured in (
        ("simulator", "s", on_simulator),
        ("emulator", "emulated s", on_emulator),
    ):
        try:
            seconds = measured()
        except (ImageUnusable, ImportError) as why:
            Console(stderr=True).print(f"a bare Pico left out: {why}")
            continue
        figures += [
            Benchmark(f"{name}: a bare board flashed", seconds.flash, unit, "until it has started"),
            Benchmark(f"{name}: an update", seconds.update, unit, "until it is confirmed"),
            Benchmark(f"{name}: power to ready", seconds.start, unit, "aim on a Pico: 2"),
        ]
    return figures


def odds_of_the_largest_game() -> list[Benchmark]:
    """The odds over every order of six cards of eight decks, for the game with the most wagers."""
    seconds = 1 / _per_second(lambda: odds(Game(document("pa-midi")), decks=8), ["pa-midi"])
    return [Benchmark("odds of pa-midi, 8 decks", seconds, "s", "aim: 5")]


def size_figures() -> list[Benchmark]:
    """The size of the compiled firmware on the board's flash."""
    total = sum(map(len, modules_of("pico").values()))
    return [Benchmark("compiled firmware, a Pico's", total, "bytes", "aim: 60,000")]


def main() -> None:
    """Measure everything, print a table, and write build/bench.json."""
    console = output()
    parts: Sequence[Callable[[], list[Benchmark]]] = (
        codec_figures, reader_figures, generator, frame_figures, shoe_figures, heap_high_water,
        journal, database, verifier, listings,
        odds_of_the_largest_game, size_figures, signature_figures, sealing_figures, servicing,
        following, noting, screens, searches, storing, centre_load, targets,
    )  # fmt: skip
    figures: list[Benchmark] = []
    with progress("parts measured", len(parts)) as advance:
        for part in parts:
            figures += part()
            advance()
    table = Table(title=f"{platform.machine()}, Python {platform.python_version()}")
    table.add_column("what")
    table.add_column("measured", justify="right")
    table.add_column("unit")
    table.add_column("compare with")
    for figure in figures:
        shown = _figure_text(figure.value)
        table.add_row(figure.name, shown, figure.unit, figure.against)
    console.print(table)
    out = write_figures("bench.json", [vars(figure) for figure in figures])
    console.print(f"Written to {out.relative_to(out.parents[1])}.")


def _figure_text(value: float) -> str:
    digits = 0 if value >= 1000 else 1 if value >= 1 or not value else 3
    return f"{value:,.{digits}f}"


def _micropython(what: str) -> list[str]:
    return [*interpreter(), "-m", "sabot_hil.benchmarks.device", what]


def _device(what: str) -> dict[str, float]:
    library = os.environ.get("SABOT_MICROPYTHON_LIB")  # its folder python-ecosys/cbor2
    search = environment()
    if library:
        search["MICROPYPATH"] += f":{library}"
    run = subprocess.run(
        _micropython(what),
        cwd=_PACKAGES,
        env=search,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name: float(value) for name, value in map(str.split, run.stdout.splitlines())}


def _heap_used(simulated: SimulatedShoe) -> int:
    with Port(simulated.port) as port:
        return int(Client(port).ask(StatusCommand()).heap_used)


def _deals_a_shoe() -> bool:
    with tempfile.TemporaryDirectory() as folder, SimulatedShoe("BENCH") as simulated:
        with open_store(Path(folder) / "log.sqlite", create=True) as store:
            try:
                simulated.power_on()
            except Exception:
                return False
            logger = Logger(store, [simulated.port], LogWatcher(), once=True)
            dealer = Dealer(simulated.bench, shuffled(1), card_set=0, pace=0)
            logger.start()
            dealer.start()
            while not logger.wait(0.05):
                if dealer.failure is not None or not simulated.running():
                    dealer.stop()
                    logger.stop()
                    return False
            return not logger.failures


def _card_record(number: int) -> Record:
    values = [*CARD_EVENT]
    values[1] = number
    data = cbor2.dumps(values, canonical=True)
    return Record(wire.parse_event(data), data, bytes(MAC_SIZE))


def _per_second(work: Callable[[], object], items: Sequence[object]) -> float:
    begin_s = time.perf_counter()
    work()
    return len(items) / (time.perf_counter() - begin_s)


if __name__ == "__main__":
    run(main)
