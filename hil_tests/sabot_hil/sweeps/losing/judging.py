"""What is wrong in a world, once nothing fails any more."""

import shutil
from collections import Counter
from pathlib import Path

from sabot.errors import DiskFull
from sabot_hil.kit.centre import oracle
from sabot_hil.kit.centre.copies import newest_of, read_centre, read_site
from sabot_hil.kit.centre.oracle import Truth
from sabot_hil.kit.centre.postgres import OWNER
from sabot_hil.sweeps.losing.world import World, now_ms

_CLOCK_OFF_MS = 13 * 3600 * 1000  # more than any clock was off


def lagging(world: World) -> list[str]:
    """What the centre or a site does not have yet, though nothing fails any more."""
    heads, signed = world.heads(), read_centre(world.server.address(OWNER)).receipts
    last = {unit: number for unit, number, _ in sorted(signed)}
    return [
        f"{unit} does not go on: the site has event {newest}, the centre {head}; the centre "
        f"has signed for {last.get(unit, 0)}, the site has a receipt of {receipted}"
        for site in world.waited_for()
        for unit in site.units
        if len({
            newest := site.newest(unit), head := newest_of(heads, unit),
            receipted := site.last_receipt(unit),
        }) > 1
    ]  # fmt: skip


def findings(world: World) -> list[str]:
    """Everything that is wrong now that all is quiet, with what was found on the way."""
    truth = Truth({unit: made for site in world.sites for unit, made in site.truth().items()})
    span = world.begun_unix_ms - _CLOCK_OFF_MS, now_ms() + _CLOCK_OFF_MS
    centre = read_centre(world.server.address(OWNER))
    found = [*world.found, *oracle.centre_findings(truth, centre)]
    found += oracle.receipt_findings(
        truth, centre.receipts, notary=world.public, where="the centre", between_unix_ms=span,
        checked="chain",
    )  # fmt: skip
    found += oracle.alarm_findings(centre, allowed=world.set_back_alarms)
    for site in world.sites:
        copy = read_site(site.log_path)
        found += oracle.site_findings(truth, copy, site.units)
        found += oracle.receipt_findings(
            truth, copy.receipts, notary=world.public, where=site.role, units=site.units,
            between_unix_ms=span, checked="chain",
        )  # fmt: skip
        for unit, number in site.logged.items():
            if number > truth.newest(unit):
                found.append(f"{site.role} lacks {unit} event {number}, which was durable")
        address = world.server.address(OWNER)
        others = [unit for each in world.sites if each is not site for unit in each.units]
        found += world.programs.compare(
            site.log_path, address, world.notary_file, world.keys_file, others
        )
    return found + _printed(world) + _ended(world)


def keep_outputs(world: World, folder: Path) -> None:
    """Copy what the programs have printed."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*world.own.glob("*.output"), world.server.data / "server.log"):
        shutil.copy(path, folder)


def _printed(world: World) -> list[str]:
    outputs = [world.notary_output, *(site.output for site in world.sites)]
    shown = [(path, path.read_text(errors="replace")) for path in outputs if path.exists()]
    return [f"{path.name} shows a traceback" for path, text in shown if "Traceback" in text]


def _ended(world: World) -> list[str]:
    """What ended by itself, though it should go on for ever, or until its disk is full."""
    ended = [("the notary", code) for code in world.notaries_ended]
    ended += [(f"{site.role}'s forwarder", code) for site in world.sites for code in site.ended]
    counts = Counter(each for each in ended if each[1] != DiskFull.exit_code)
    return [
        f"{who} ended by itself with exit code {code}, {count} times"
        for (who, code), count in sorted(counts.items())
    ]
