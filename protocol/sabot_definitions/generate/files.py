"""Which files have generated blocks, and their texts as the definitions make them."""

import subprocess
import sys
from pathlib import Path

from sabot_definitions import bench, events, messages
from sabot_definitions.form import Command, DefinitionError, Report, check
from sabot_definitions.generate import cddl, classes, shapes, tables
from sabot_definitions.generate.blocks import with_block

_HERE = "sabot_definitions"
_TO_DEVICE, _TO_HOST = range(1, 64), range(64, 96)
_BENCH = range(96, 128)


def check_all() -> None:
    """Raise DefinitionError for a definition that is not in its form."""
    check(f"{_HERE}/events.py", events.EVENTS)
    check(f"{_HERE}/messages.py", messages.TO_DEVICE, _TO_DEVICE, messages.GONE)
    check(f"{_HERE}/messages.py", messages.TO_HOST, _TO_HOST)
    check(f"{_HERE}/bench.py", (*bench.FROM_BENCH, *bench.TO_BENCH), _BENCH)
    reports = {each.name for each in messages.TO_HOST if isinstance(each, Report)}
    for each in messages.TO_DEVICE:
        if isinstance(each, Command) and each.answer not in reports:
            raise DefinitionError(
                f"{_HERE}/messages.py: {each.name} is answered with {each.answer}, which is no "
                "Report of TO_HOST"
            )


def blocks() -> dict[str, dict[str, str]]:
    """Return the content of each generated block, by file and by the block's name."""
    of_messages, of_events = f"{_HERE}/messages.py", f"{_HERE}/events.py"
    return {
        "protocol/sabot_protocol/events.py": {
            f"all kinds, from {of_events}": shapes.event_shapes(events.HEAD, events.EVENTS),
        },
        "protocol/sabot_protocol/messages.py": {
            f"all messages, from {of_messages}": shapes.message_shapes(
                messages.TO_HOST, messages.TO_DEVICE
            ),
        },
        "protocol/sabot_protocol/sim/sim_channel.py": {
            f"all messages, from {_HERE}/bench.py": shapes.bench_shapes(
                bench.FROM_BENCH, bench.TO_BENCH
            ),
        },
        "protocol/sabot.cddl": {
            "the version, from sabot_protocol": cddl.version(),
            f"host to device, from {of_messages}": cddl.rules_of("to-device", messages.TO_DEVICE),
            f"device to host, from {of_messages}": cddl.rules_of("to-host", messages.TO_HOST),
            f"from the bench, from {_HERE}/bench.py": cddl.rules_of("from-bench", bench.FROM_BENCH),
            f"to the bench, from {_HERE}/bench.py": cddl.rules_of("to-bench", bench.TO_BENCH),
            f"events, from {of_events}": cddl.event_rules(),
            "versions and enumerations, from sabot_protocol": cddl.enumerations(),
        },
        "protocol/README.md": {
            "the version, from sabot_protocol": tables.version(),
            f"host to device, from {of_messages}": tables.protocol_table(
                "message", messages.TO_DEVICE
            ),
            f"device to host, from {of_messages}": tables.protocol_table(
                "message", messages.TO_HOST
            ),
            f"bench, from {_HERE}/bench.py": tables.protocol_table(
                "message", (*bench.FROM_BENCH, *bench.TO_BENCH)
            ),
            f"the header, from {of_events}": tables.protocol_table("event", [events.HEAD]),
            f"events, from {of_events}": tables.protocol_table("event", events.EVENTS),
            f"commands, from {of_messages}": tables.commands_table(messages.TO_DEVICE),
        },
        "docs/json.md": {f"events, from {of_events}": tables.json_table(events.EVENTS)},
        "host/sabot/link/words.py": {
            f"words in bits, from {of_events}": classes.bit_sets(events.EVENTS),
        },
        "host/sabot/link/events.py": {
            f"all kinds, from {of_events}": classes.event_classes(events.EVENTS),
        },
        "host/sabot/link/messages.py": {
            f"all messages, from {of_messages}": classes.message_classes(
                messages.TO_HOST, messages.TO_DEVICE
            ),
        },
    }


def generated(root: Path) -> dict[str, str]:
    """Return the text that each file below `root` should have, by its path there.

    Raises DefinitionError, and BlockError for a file without the lines that begin and end a block.
    """
    check_all()
    found = {}
    for path, named in blocks().items():
        text = (root / path).read_text(encoding="utf-8")
        for name, content in named.items():
            text = with_block(path, text, name, content)
        found[path] = _formatted(text) if path.endswith(".py") else text
    return found


def _formatted(text: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    command = [str(ruff), "format", "--isolated", "--line-length", "100", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DefinitionError(f"what is generated is not Python:\n{done.stderr}")
    return done.stdout
