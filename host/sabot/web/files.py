"""The style sheets and scripts of the pages."""

import hashlib
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import Response

from sabot.web.access import PUBLIC, Guarded, Visit

_FOLDER = Path(__file__).parent / "static"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FILES = {path.name: path.read_bytes() for path in _FOLDER.iterdir() if path.suffix in _TYPES}
_VERSION = hashlib.sha256(b"".join(_FILES[name] for name in sorted(_FILES))).hexdigest()[:16]


def address_of(name: str) -> str:
    """The address of a file. It changes with the files, so that a browser may keep them for ever;
    it is part of the path, so that scripts import each other with it."""
    assert name in _FILES, name
    return f"/static/{_VERSION}/{name}"


def style_of(name: str) -> str:
    """A style sheet, for a page that is a file of its own."""
    return _FILES[name].decode()


def _file(visit: Visit) -> Response:
    version, name = (visit.request.path_params[each] for each in ("version", "name"))
    content = _FILES.get(name)
    if content is None:
        raise HTTPException(404, "there is no such file")
    kept = "public, max-age=31536000, immutable" if version == _VERSION else "no-store"
    headers = {"cache-control": kept}
    return Response(content, media_type=_TYPES[Path(name).suffix], headers=headers)


ROUTES = [Guarded("/static/{version}/{name}", _file, PUBLIC)]
