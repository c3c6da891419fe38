"""How long a Pico takes to check the signature of a release, measured on the emulated one."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sabot.keys import signing
from sabot_hil.emulation.pico import EmulatedPico
from sabot_hil.emulation.uf2 import find_image, read_image
from sabot_hil.kit import releases
from sabot_protocol import release

_STARTER = """\
import time
from binascii import unhexlify

begun = time.ticks_us()
from sabot_firmware.release.ed25519 import verify
loaded = time.ticks_us()
right = verify({public!r}, {signature!r}, {message!r})
done = time.ticks_us()
print("took", right, time.ticks_diff(loaded, begun), time.ticks_diff(done, loaded))
"""
_LONGEST_US = 60e6


def verification_us() -> tuple[int, int]:
    """Return the microseconds to load the module and to verify. Raises ImageUnusable."""
    private = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    message = release.signed(b"any manifest")
    starter = _STARTER.format(
        public=signing.public_of(private), signature=signing.sign(private, message), message=message
    )
    files = {**releases.compiled("pico"), "main.py": releases.script_for("pico", starter)}
    pico = EmulatedPico(read_image(find_image()), files)
    said = bytearray()

    def reported() -> bool:
        said.extend(pico.usb_read())
        return b"took" in said and said.endswith(b"\n")

    pico.power_on()
    if not pico.run_until(reported, _LONGEST_US):
        raise AssertionError(f"its output was {bytes(said)!r}")
    _, right, loading_us, verifying_us = said[said.index(b"took") :].split()
    assert right == b"True", bytes(said)
    return int(loading_us), int(verifying_us)
