"""Read the logs of Sabot dealing shoes from Python.

    import sabot

    with sabot.open("evening.sqlite") as log:
        for dealt in log.rounds(unit="SHOE-7"):
            print(dealt.round, dealt.winner)

Other programs may use the names in `__all__`. docs/library.md describes them, and which of their
properties will not change. All other modules are internal, and change without notice.
"""

from sabot_firmware import VERSION as __version__

TYPE_CHECKING = False  # type checkers take it as True; importing `typing` takes 20 ms

if TYPE_CHECKING:
    from sabot.audit.checks.findings import Finding, Note
    from sabot.errors import DatabaseUnusable, KeysUnusable, SabotError
    from sabot.library import Log, Verification, open
    from sabot.log.families.boxes import BlackjackRound, BoxHand
    from sabot.log.families.cards import Card
    from sabot.log.families.hands import Hand
    from sabot.log.reading.events import LogEvent
    from sabot.log.rounds import Round
else:
    # Each is imported when it is first used: importing all of them takes a quarter of a second.
    _MODULES = {
        "BlackjackRound": "log.families.boxes",
        "BoxHand": "log.families.boxes",
        "Card": "log.families.cards",
        "DatabaseUnusable": "errors",
        "Finding": "audit.checks.findings",
        "Hand": "log.families.hands",
        "KeysUnusable": "errors",
        "Log": "library",
        "LogEvent": "log.reading.events",
        "Note": "audit.checks.findings",
        "Round": "log.rounds",
        "SabotError": "errors",
        "Verification": "library",
        "open": "library",
    }

    def __getattr__(name):
        if name not in _MODULES:
            raise AttributeError(f"module 'sabot' has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"sabot.{_MODULES[name]}"), name)
        return value

    def __dir__():
        return sorted({*globals(), *_MODULES})


__all__ = [
    "BlackjackRound",
    "BoxHand",
    "Card",
    "DatabaseUnusable",
    "Finding",
    "Hand",
    "KeysUnusable",
    "Log",
    "LogEvent",
    "Note",
    "Round",
    "SabotError",
    "Verification",
    "__version__",
    "open",
]
