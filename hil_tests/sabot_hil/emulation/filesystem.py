"""The content of a Pico's own file system: the compiled firmware and the documents of a unit."""

from collections.abc import Mapping

from littlefs import LittleFS, UserContext

from sabot.keys import signing
from sabot.release.documents import document
from sabot.release.layout import contents
from sabot_hil.kit import releases

BEGIN = 0xA0000
"""Where MicroPython v1.28 for the Pico has its file system in the flash."""

BLOCK = 4096
BLOCKS = 352
SIZE = BLOCK * BLOCKS
"""The whole area: at its start MicroPython formats an area that the file system does not fill."""

_PAGE = 256
_DISK_VERSION = 0x00020000
_BENCH_STARTER = b"from sabot_rig.main import main\n\nmain()\n"


def file_system_image(files: Mapping[str, bytes]) -> bytes:
    """Return a file system with these files, by path; SIZE bytes."""
    context = UserContext(buffsize=SIZE)
    system = LittleFS(
        context=context,
        block_size=BLOCK,
        block_count=BLOCKS,
        prog_size=_PAGE,
        disk_version=_DISK_VERSION,
    )
    for path in sorted(files):
        folder = path.rpartition("/")[0]
        if folder:
            system.makedirs(folder, exist_ok=True)
        with system.open(path, "wb") as file:
            file.write(files[path])
    system.unmount()
    return bytes(context.buffer)


def shoe_files(documents: Mapping[str, object]) -> dict[str, bytes]:
    """Return the files of a flashed unit with these documents, by name."""
    files = contents(releases.compiled("pico"), signing.public_of(releases.HOUSE))
    for name, content in documents.items():
        files[f"state/{name}.cbor"] = document(content)
    return files


def bench_files() -> dict[str, bytes]:
    """Return the files of a bench board: its firmware and its starter, as in hil_tests/wiring."""
    return releases.compiled(releases.BENCH) | {"main.py": _BENCH_STARTER}
