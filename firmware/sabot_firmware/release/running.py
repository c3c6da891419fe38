"""The release that runs: the slot that the boot loader started, and whether it is on trial."""

import hashlib
from binascii import unhexlify

from sabot_firmware.release import boot
from sabot_protocol import enums

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Feed

TRIAL_MS = 120000
"""How long a release on trial waits for a host to confirm it."""

_CHUNK = 1024

_IDLE, _STAGED, _ON_TRIAL = [
    enums.UPDATE_STAGES.index(stage) for stage in ("idle", "staged", "on_trial")
]


class RunningRelease:
    """The release that the boot loader started, with its `root`, `slot`, `state` and `feed`, as in
    main.py. Without a slot nothing is on trial and no release is accepted."""

    def __init__(
        self,
        root: str = "",
        slot: str = "",
        state: "boot.State | None" = None,
        feed: "Feed | None" = None,
    ) -> None:
        self._root = root
        self._slot = slot
        self._state = state
        self.on_trial = feed is not None
        """Whether it runs for the first time and no host has confirmed it yet."""
        self.has_slot = bool(slot)
        """Whether it runs from a slot, and can take a release into the other one."""

    @property
    def build(self) -> bytes:
        """SHA-256 of the list of the slot that runs; empty if it does not run from a slot."""
        return b"" if self._state is None else unhexlify(self._state.lists[self._slot])

    def stage(self) -> int:
        """Return the stage of an update, a place in `enums.UPDATE_STAGES`."""
        if self.on_trial:
            return _ON_TRIAL
        return _STAGED if self._state is not None and self._state.other == boot.NEW else _IDLE

    def confirm(self) -> None:
        """Keep the release that is on trial."""
        self._keep(boot.NOTHING)
        self.on_trial = False

    def ask_for_update(self) -> None:
        """Ask the next start to accept a release."""
        boot.ask_for(boot.WANTED, self._root)

    def ask_for_prompt(self) -> bool:
        """Ask the next start for MicroPython's prompt at the port. Return False if there are no
        slots."""
        if not self._slot:
            return False
        boot.ask_for(boot.DEBUG, self._root)
        return True

    def is_whole(self) -> bool:
        """Whether the slot is on flash as it was signed, so that it will start again. This is the
        check of `boot.modules`, for which a shoe in service has too little heap."""
        if self._state is None or not self._slot:
            return True
        slot = self._root + "/" + self._slot
        chunk, listed = bytearray(_CHUNK), hashlib.sha256()
        try:
            with open(slot + boot.CODE, "rb") as code, open(slot + boot.LIST, "rb") as lines:
                for line in lines:
                    listed.update(line)
                    digest, size, _ = line.split(b" ")
                    found = boot.sha256_of(code, int(size), chunk).digest()
                    if found != unhexlify(digest):
                        return False
                return listed.digest() == self.build and not code.read(1)
        except (OSError, ValueError):
            return False

    def undone(self) -> bytes:
        """Return the `build` of a release that the boot loader has given up; empty for none."""
        if self._state is None or self._state.other != boot.UNDONE:
            return b""
        listed = self._state.lists[boot.other_slot(self._slot)]
        return b"" if listed == boot.EMPTY else unhexlify(listed)

    def forget_undone(self) -> None:
        """Note that the release that was given up is recorded."""
        self._keep(boot.NOTHING)

    def may_go_on(self, now_ms: int) -> bool:
        """Return whether the release may go on running, `now_ms` after the start."""
        return not self.on_trial or now_ms < TRIAL_MS

    def _keep(self, other: str) -> None:
        if self._state is not None:
            self._state = boot.State(self._slot, other, self._state.lists)
            boot.keep(self._root, self._state)
