"""Bundles: one shoe of cards out of a log, signed by the operator, verifiable without the log.

A bundle is sealed (signing.py). It holds:

- the records of a shoe of cards as the shoe wrote them, each with its MAC, from shortly before
  `shoe_loaded` to the `shoe_loaded` of the next one: until that a misdeal can void the last round.
  If the log had no next one yet, to the end of the log, and the verdict says so;
- the last start, game and clock before them;
- the seam of the board, if it has taken the place of another;
- what the exporter found wrong with them;
- the MAC keys of exactly the epochs of these records, if the exporter had the unit's key.

With those keys anyone can check the audit chain within the bundle, and no one can derive the key
of another epoch. But a MAC key also makes MACs: from then on anyone who has the bundle can forge
MACs of these epochs, and only the operator's signature proves anything. The proof is stronger if
the operator never had the unit's first key: then the bundle is exported without keys, and the
holder of that key verifies it. An epoch is four events, so the last revealed key also covers up to
three events after the bundle.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hmac import compare_digest
from pathlib import Path
from typing import Any

from sabot.audit import chain
from sabot.audit.absence.elsewhere import NOWHERE, Elsewhere
from sabot.audit.bundle_file import Bundle, BundleFacts, read, readable_events
from sabot.audit.checks.findings import Finding, Note, Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.audit.play.known_games import KnownGames
from sabot.audit.tombstone import ContextRecord
from sabot.errors import BundleUnusable, KeysUnusable
from sabot.keys import signing
from sabot.keys.chain_keys import Keys
from sabot.link.events import (
    DECIDED,
    BootEvent,
    CheckpointEvent,
    Event,
    GameLoadedEvent,
    ShoeLoadedEvent,
)
from sabot.log import boards
from sabot.log.seam import Seam, SeamUnusable
from sabot.text import counted
from sabot_protocol.chain import EPOCH_RECORDS


@dataclass(frozen=True, slots=True)
class BundleVerdict:
    """The outcome of checking a bundle."""

    path: Path
    bundle: Bundle
    findings: Sequence[Finding]
    summary: Summary
    signer: str
    """Fingerprint of the key that signed the bundle."""
    vouched: bool
    """Whether that key is the one given to the verifier as the operator's."""
    own_keys: bool
    """Whether the audit chain was checked with the verifier's own key of the unit."""

    def lines(self) -> Iterator[str]:
        """A description of the bundle for people, without the findings."""
        bundle, facts = self.bundle, self.bundle.facts
        content = f"{bundle.unit} shoe {bundle.shoe}: events {bundle.first} to {bundle.last}"
        yield f"{content}{self._could_follow()}"
        yield _facts_text(facts)
        if self.vouched:
            yield f"signed by {self.signer}, the operator's key"
        else:
            yield f"signed by {self.signer}, not checked against the operator's key"
        if self.own_keys:
            yield "audit chain checked with the unit's own key"
        elif bundle.keys:
            yield "audit chain checked with the keys in the bundle, for which its signer vouches"
        else:
            yield "audit chain not checked: the bundle has no keys, and none was given"
        for note in self.summary.notes:
            where = f"event {note.event}" if note.event else note.unit
            yield f"{where}: note: {note.kind}: {note.detail}"

    def _could_follow(self) -> str:
        """What could still have come after the last record, for people; empty if nothing could."""
        if not self.bundle.ended:
            return ", exported before its end: whatever came later is not in it"
        if self.bundle.final:
            return ""
        return (
            f"; it speaks up to event {self.bundle.last}: before the next shoe of cards a misdeal "
            "could still have voided the last round"
        )

    def as_json(self) -> dict[str, Any]:
        """The verdict as `sabot verify --json` prints it."""
        bundle, facts = self.bundle, self.bundle.facts
        return {
            "ok": not self.findings,
            "unit": boards.unit_of(bundle.unit),
            "shoe": bundle.shoe,
            "first_event": bundle.first,
            "last_event": bundle.last,
            "ended": bundle.ended,
            "final": bundle.final,
            "firmware": facts.firmware,
            "build": None if facts.build is None else facts.build.hex(),
            "game": facts.game,
            "game_sha256": None if facts.game_sha256 is None else facts.game_sha256.hex(),
            "signer": self.signer,
            "vouched": self.vouched,
            "own_keys": self.own_keys,
            "findings": [finding.as_json() for finding in self.findings],
            "notes": [note.as_json() for note in self.summary.notes],
            "board_number": boards.board_of(bundle.unit),
        }


def verify_bundle(
    path: Path, keys: Keys | None, operator: Path | None, elsewhere: Elsewhere = NOWHERE
) -> BundleVerdict:
    """Check a bundle from its file alone: signature, numbers, chain, rules and facts.

    `operator` is the file of the public key that must have signed it; without it the signer is
    unknown, which is a finding (`signer`). `keys` are the verifier's own: with them the chain, and
    the keys in the bundle, are checked against the unit's own key. `elsewhere` is what is known to
    be in another place: the document of its game.

    Raises BundleUnusable if the file is not a bundle, is damaged, has a newer format, or was signed
    by another key than `operator`; KeysUnusable if `keys` or `operator` cannot be used.
    """
    bundle, public = read(path)
    signer = signing.fingerprint(public)
    findings: list[Finding] = []
    if operator is None:
        detail = f"signed by {signer}, which was not checked; name the operator's key"
        findings.append(Finding(bundle.unit, 0, "signer", f"{detail} with --operator"))
    elif (wanted := signing.load_public(operator)) != public:
        raise BundleUnusable(
            f"{path}: signed by {signer}, not by {signing.fingerprint(wanted)} of {operator}; have "
            "it exported again by the operator"
        )
    own = None if keys is None else unit_keys(keys, bundle.unit, bundle.chain, bundle.epochs())
    summary = Summary(units=1)
    findings += check_bundle(bundle, own, summary, elsewhere)
    findings += _wrong_seam(bundle, public, summary)
    # The exporter had the whole log, and may have found more than can be found in the bundle.
    findings += [each for each in bundle.findings if each not in findings]
    return BundleVerdict(
        path, bundle, findings, summary, signer, operator is not None, own is not None
    )


def check_bundle(
    bundle: Bundle,
    own: Mapping[int, bytes] | None,
    summary: Summary,
    elsewhere: Elsewhere = NOWHERE,
) -> Iterator[Finding]:
    """Yield every finding in a bundle, except about its signer. `own` are the unit's MAC keys by
    epoch, if the verifier has them; `elsewhere` is what is known to be in another place.
    """
    yield from _wrong_facts(bundle)
    macs: chain.MacKeys | None = None
    if own is not None or bundle.keys:
        yield from _wrong_keys(bundle, own)
        known = bundle.keys if own is None else own
        if known.keys() >= set(bundle.epochs()):
            macs = chain.RevealedKeys(known, bundle.chain or None)
    if macs is not None:
        yield from _wrong_context(bundle, macs)
    before = bundle.before or (bundle.chain if bundle.first == 1 else b"")
    checks = UnitChecks(
        bundle.unit,
        macs=macs,
        first=bundle.first,
        before=before or None,
        games=_games_of(bundle, elsewhere),
    )
    checks.started(_context_events(bundle.context))
    yield from checks.verify(bundle.records, summary)


def _games_of(bundle: Bundle, elsewhere: Elsewhere) -> KnownGames:
    document = bundle.game_document
    sha256 = hashlib.sha256(document).digest()
    return KnownGames(lambda wanted: document if document and wanted == sha256 else None, elsewhere)


def unit_keys(keys: Keys, unit: str, chain_id: bytes, epochs: Sequence[int]) -> dict[int, bytes]:
    """The MAC keys of these epochs (ascending) of the chain `chain_id`. Raises KeysUnusable if
    `keys` lack that chain.
    """
    ratchet = ratchet_of(keys, unit, chain_id)
    return {epoch: ratchet.mac_key(epoch) for epoch in epochs}


def ratchet_of(keys: Keys, unit: str, chain_id: bytes) -> chain.Ratchet:
    """The keys of a unit's chain `chain_id`. An empty id, for records that name no chain, means the
    only chain that `keys` have of the unit.

    Raises KeysUnusable if `keys` lack that chain.
    """
    of = boards.unit_of(unit)
    if not chain_id and len(keys.chains(of)) == 1:
        (chain_id,) = keys.chains(of)
    first_key = keys.first_key(of, chain_id)
    if first_key is None:
        which = f"the chain {chain_id.hex()}" if chain_id else "its chain, which no record names"
        raise KeysUnusable(
            f"{unit}: no key for {which}; name the file that has it with --keys, or leave it out"
        )
    return chain.Ratchet(first_key)


def facts_of(
    shoe: int, context: Sequence[ContextRecord], records: Sequence[tuple[int, bytes, bytes]]
) -> BundleFacts:
    """The firmware, game and checkpoint of the shoe of cards `shoe`, from its records."""
    boot: BootEvent | None = None
    game: GameLoadedEvent | None = None
    loaded: ShoeLoadedEvent | None = None
    dealt_by: bytes | None = None
    checkpoint: CheckpointEvent | None = None
    for event in [*_context_events(context), *readable_events(record for _, record, _ in records)]:
        if isinstance(event, BootEvent) and not loaded:  # the last one before it
            boot = event
        elif isinstance(event, GameLoadedEvent) and not loaded:
            game = event
        elif event.shoe != shoe:
            continue
        elif isinstance(event, ShoeLoadedEvent):
            loaded = loaded or event
        elif isinstance(event, DECIDED):
            dealt_by = dealt_by or event.game
        elif isinstance(event, CheckpointEvent):
            checkpoint = checkpoint or event
    return BundleFacts(
        firmware=boot.firmware if boot else None,
        build=boot.build if boot else None,
        game=loaded.game if loaded else None,
        game_sha256=dealt_by or (game.sha256 if game else None),
        checkpoint=_checkpoint(checkpoint),
    )


def chain_id_of(
    context: Sequence[ContextRecord], records: Sequence[tuple[int, bytes, bytes]]
) -> bytes:
    """The id of the audit chain, from the first start in these records; empty without a start."""
    for event in [*_context_events(context), *readable_events(record for _, record, _ in records)]:
        if isinstance(event, BootEvent):
            return event.chain
    return b""


def _wrong_seam(bundle: Bundle, signer: bytes, summary: Summary) -> Iterator[Finding]:
    """Yield every finding about the seam of a bundle of a board that has taken the place of
    another. It must be signed by `signer`, the public key that signed the bundle."""
    if boards.before(bundle.unit) is None:
        if bundle.seam:
            yield Finding(bundle.unit, 0, "seam", "it has a seam, and is of a first board")
        return
    try:
        seam = Seam.parse(bundle.seam)
    except SeamUnusable as error:
        detail = str(error) if bundle.seam else "no seam says whose place this board has taken"
        yield Finding(bundle.unit, 0, "seam", detail)
        return
    if seam.name != bundle.unit:
        yield Finding(bundle.unit, 0, "seam", f"its seam is of {seam.name}")
    if bundle.chain and seam.chain != bundle.chain:
        detail = f"the bundle's chain is {bundle.chain.hex()}, its seam names {seam.chain.hex()}"
        yield Finding(bundle.unit, 0, "seam", detail)
    if seam.public_key != signer:
        by = signing.fingerprint(seam.public_key)
        yield Finding(bundle.unit, 0, "operator", f"its seam was signed by {by}, not by the signer")
    summary.notes.append(Note(bundle.unit, 0, "seam", seam.text()))


def _wrong_facts(bundle: Bundle) -> Iterator[Finding]:
    """Yield a finding where a bundle's description of itself contradicts its records."""
    for detail in _unlike_records(bundle):
        yield Finding(bundle.unit, bundle.first, "bundle", detail)
    events = bundle.events()
    kinds = {event.kind for event in events if event.shoe == bundle.shoe}
    if "shoe_loaded" not in kinds:
        detail = f"no shoe of cards {bundle.shoe} is loaded in the bundle's records"
        yield Finding(bundle.unit, bundle.first, "bundle", detail)
    if bundle.ended and "shoe_ended" not in kinds:
        detail = f"shoe of cards {bundle.shoe} does not end in the bundle's records"
        yield Finding(bundle.unit, bundle.last, "bundle", detail)
    if "shoe_ended" in kinds and "checkpoint" not in kinds:
        detail = f"no checkpoint after the end of shoe of cards {bundle.shoe}"
        yield Finding(bundle.unit, bundle.last, "checkpoint", detail)


def _unlike_records(bundle: Bundle) -> Iterator[str]:
    stated, recorded = bundle.facts, facts_of(bundle.shoe, bundle.context, bundle.records)
    if stated != recorded:
        yield f"the bundle says {_facts_text(stated)}; its records say {_facts_text(recorded)}"
    numbers = [each.number for each in bundle.context]
    if numbers != sorted(set(numbers)) or (numbers and numbers[-1] >= bundle.first):
        yield "its context must come before its records, and does not"
    boots = [event for event in _context_events(bundle.context) if isinstance(event, BootEvent)]
    events = bundle.events()
    if boots and events and events[0].kind != "boot" and events[0].boot != boots[-1].boot:
        yield f"its context ends with start {boots[-1].boot}, its records are of {events[0].boot}"
    for event in [*boots, *(event for event in events if isinstance(event, BootEvent))]:
        if event.chain != bundle.chain:
            recorded_id = event.chain.hex()
            yield f"the bundle's chain is {bundle.chain.hex()}, that of its records {recorded_id}"
            return


def _wrong_keys(bundle: Bundle, own: Mapping[int, bytes] | None) -> Iterator[Finding]:
    """Yield a finding for keys that are not the unit's, are missing, or belong to no record."""
    needed = set(bundle.epochs())
    wrong = {
        "not the unit's": [
            epoch
            for epoch, key in bundle.keys.items()
            if own is not None and epoch in own and not compare_digest(own[epoch], key)
        ],
        "missing": sorted(needed - bundle.keys.keys()) if bundle.keys else [],
        "not of any of its records": sorted(bundle.keys.keys() - needed),
    }
    for fault, epochs in wrong.items():
        if epochs:
            others = f" and {len(epochs) - 1} more" if len(epochs) > 1 else ""
            detail = f"the bundle's key of epoch {epochs[0]}{others}: {fault}"
            yield Finding(bundle.unit, max(1, epochs[0] * EPOCH_RECORDS), "keys", detail)


def _wrong_context(bundle: Bundle, macs: chain.MacKeys) -> Iterator[Finding]:
    known = set(bundle.epochs())
    for each in bundle.context:
        before = each.before or (bundle.chain if each.number == 1 else b"")
        epoch = chain.epoch_of(each.number)
        if epoch not in known:
            detail = "its record does not carry its number: its MAC cannot be checked"
        elif not before:
            detail = "the MAC of the event before it is unknown: its own cannot be checked"
        elif not compare_digest(chain.mac(macs.mac_key(epoch), before, each.record), each.mac):
            detail = "its MAC does not fit the chain"
        else:
            continue
        yield Finding(bundle.unit, each.number, "chain", detail)


def _checkpoint(event: CheckpointEvent | None) -> tuple[int, int, bytes] | None:
    if event is None:
        return None
    return event.number, event.records, event.mac


def _context_events(context: Sequence[ContextRecord]) -> list[Event]:
    return list(readable_events(each.record for each in context))


def _facts_text(facts: BundleFacts) -> str:
    game = f"game {_or(facts.game)}, document {_hex(facts.game_sha256)}"
    return f"firmware {_or(facts.firmware)}, build {_hex(facts.build)}, {game}, {_at_end(facts)}"


def _at_end(facts: BundleFacts) -> str:
    if facts.checkpoint is None:
        return "no checkpoint"
    number, records, mac = facts.checkpoint
    return f"checkpoint {number} over {counted(records, 'record')} up to MAC {mac.hex()}"


def _hex(value: bytes | None) -> str:
    return value.hex() if value else "unknown"


def _or(value: str | None) -> str:
    return "unknown" if value is None else value
