"""The folder of `sabot capture`: recordings, pictures, an index, and a page that shows them all.

Each file is written completely or not at all, and the index names only what is there.
"""

import json
from pathlib import Path
from typing import Any

from sabot.errors import BadRecording
from sabot.files import read_bounded, replace_whole
from sabot.service import picture
from sabot.service.capture import SavedPass
from sabot.sim import waveform
from sabot.sim.waveform import Levels

INDEX = "captures.json"
PAGE = "captures.html"
_MOST_BYTES = 16 << 20  # of an index, or of the recording of a pass: far more than any has
_MODE = 0o666  # without what the umask withholds

Entry = dict[str, Any]


def prepare(folder: Path) -> None:
    """Make a folder for captures, with an index. Raises BadRecording if that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None
    _write_index(folder, entries(folder))


def entries(folder: Path) -> list[Entry]:
    """The passes in the folder, as in the index. Raises BadRecording."""
    path = folder / INDEX
    try:
        index = json.loads(read_bounded(path, _MOST_BYTES))
        if all(isinstance(each["recording"], str) for each in index):
            return list(index)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unwritable(path, error) from None
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise BadRecording(f"{path}: not an index of captures; name another folder with -o")


def entry_of(folder: Path, kept: SavedPass) -> Entry | None:
    """The entry of a pass that was fetched before; None if it must be fetched.

    A shoe that lost its memory counts its starts and passes from 1 again. So an entry that differs
    in anything from what the shoe reports is of another pass.
    """
    wanted = kept.as_json()
    for entry in entries(folder):
        if wanted.items() <= entry.items() and (folder / kept.recording).is_file():
            return entry
    return None


def has_picture(folder: Path, entry: Entry) -> bool:
    """Whether the picture of an entry is there."""
    name = entry.get("picture")
    return isinstance(name, str) and (folder / name).is_file()


def save(folder: Path, kept: SavedPass, levels: Levels) -> Entry:
    """Write a pass: its recording, and then its entry in the index. Raises BadRecording.

    The recording ends with a rest, because `sabot read` needs one to see the end of the pass.
    """
    _write(folder / kept.recording, waveform.pack(waveform.with_rest(levels)))
    return _enter(folder, kept, None)


def draw(folder: Path, kept: SavedPass) -> Entry:
    """Draw the picture of a pass whose recording is there. Raises BadRecording."""
    recording = folder / kept.recording
    try:
        samples = read_bounded(recording, _MOST_BYTES)
    except OSError as error:
        problem = f"{recording}: cannot be read ({error.strerror}); capture again"
        raise BadRecording(problem) from None
    read = kept.read
    title = f"{kept.stem}   {kept.verdict}"
    if read.fault == "foreign_set":
        title += " (the shoe deals another set)"
    if read.speed_mm_s:  # otherwise it could not be measured
        title += f"   {read.speed_mm_s} mm/s, margin {read.margin_permille / 10:.1f} %"
        title += f", skew {read.skew_um} um"
    if kept.cut:
        title += "   (its end was not kept)"
    _write(folder / kept.picture, picture.png([(title, samples)]))
    return _enter(folder, kept, kept.picture)


def save_page(folder: Path, page: str) -> None:
    """Write the page that shows all passes in the folder. Raises BadRecording."""
    _write(folder / PAGE, page.encode())


def _enter(folder: Path, kept: SavedPass, picture_name: str | None) -> Entry:
    own = kept.as_json() | {"picture": picture_name}
    index = entries(folder)
    places = [i for i, each in enumerate(index) if each["recording"] == own["recording"]]
    if places:
        index[places[0]] = own
    else:
        index.append(own)
    _write_index(folder, index)
    return own


def _write_index(folder: Path, index: list[Entry]) -> None:
    _write(folder / INDEX, json.dumps(index, indent=1).encode() + b"\n")


def _write(path: Path, data: bytes) -> None:
    try:
        replace_whole(path, data, _MODE)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> BadRecording:
    return BadRecording(
        f"{path}: cannot be written ({error.strerror}); name another folder with -o"
    )
