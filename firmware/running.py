"""The release that runs, as the boot loader has started it: from which slot, and if on trial."""

from binascii import unhexlify

from firmware import boot

TRIAL_MS = 120000
"""How long a release that is on trial waits for a host to confirm it."""

_RELEASE_KEY = "release_key"


class Running:
    """The boot loader's `root`, `slot`, `state` and `feed`, as in main.py. Without a slot nothing
    is on trial and no update is taken."""

    def __init__(
        self, root: str = "", slot: str = "", state: "boot.State | None" = None, feed=None
    ) -> None:
        self._root = root
        self._slot = slot
        self._state = state
        self._feed = feed
        self._update = None

    @property
    def build(self) -> bytes:
        """SHA-256 of the list of what runs; empty where it is not from a slot."""
        return b"" if self._state is None else unhexlify(self._state.lists[self._slot])

    @property
    def on_trial(self) -> bool:
        """Whether it runs for the first time, and no host has confirmed it."""
        return self._feed is not None and (self._update is None or self._update.on_trial)

    @property
    def taking(self):
        """The update that has begun, or None."""
        return self._update

    def update(self, store, board_name: str):
        """What takes a release (firmware/update.py); None where there are no slots."""
        if self._update is None and self._slot:
            # It takes 40 ms to load: not at the start.
            from firmware.update import Update

            self._update = Update(self._root, self._slot, store.load(_RELEASE_KEY), board_name)
        return self._update

    def undone(self) -> bytes:
        """The `build` of a release that the boot loader has given up; empty where none was."""
        if self._state is None or self._state.other != boot.UNDONE:
            return b""
        listed = self._state.lists[boot.other_slot(self._slot)]
        return b"" if listed == boot.EMPTY else unhexlify(listed)

    def forget_undone(self) -> None:
        """That is recorded."""
        if self._state is not None:
            boot.keep(self._root, boot.State(self._slot, boot.NOTHING, self._state.lists))

    def lives(self, now_ms: int) -> bool:
        """Feed the watchdog, if there is one. Whether it may go on, `now_ms` after the start."""
        if self._feed is not None:
            self._feed()
        return not self.on_trial or now_ms < TRIAL_MS
