"""What the pages show their answers from."""

from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path

from sabot.desk.desk import Desk
from sabot.floor.live import Floor
from sabot.floor.rounds.index import RoundIndex
from sabot.floor.rounds.proof import Prover
from sabot.integrity.shown.beside import StudyBeside
from sabot.keys.chain_keys import Keys
from sabot.keys.signing import PrivateKey
from sabot.log.store import Store


@dataclass(frozen=True, slots=True)
class Services:
    """What a server has open, for all its pages."""

    store: Store
    floor: Floor
    desk: Desk
    index: RoundIndex
    zone: tzinfo
    """The zone of all times on the pages."""
    keys: Keys | None = None
    """The units' keys, to check MACs with; None if none are at hand."""
    operator: PrivateKey | None = None
    """The operator's key that signs bundles; None if none is at hand."""
    captures: Path | None = None
    """The folder with captured passes; None if there is none."""
    prover: Prover = field(default_factory=Prover)
    """Checks MACs with `keys`."""
    study: StudyBeside = field(default_factory=StudyBeside)
    """Looks through the cards of the log, when someone asks for it."""
