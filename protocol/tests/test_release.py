"""Which manifests are valid, and which shoe may run a release."""

import hashlib

from sabot_protocol import cbor, release
from sabot_protocol.release import Manifest, ReleaseError

DIGEST = bytes(range(32))


def fields(**other):
    """Return the fields of a good manifest, changed by `other`; None leaves a field out."""
    whole = {
        "release": 1,
        "version": "1.2.3",
        "board": "pico",
        "protocol": 3,
        "journal": 1,
        "micropython": "1.28.0",
        "may_go_back": False,
        "files": [
            ["sabot_firmware/main.mpy", 7, DIGEST],
            ["sabot_protocol/boards/x_1.mpy", 9, DIGEST],
        ],
    }
    whole.update(other)
    return {name: value for name, value in whole.items() if value is not None}


def encoded(value):
    buf = bytearray(20000)
    return bytes(buf[: cbor.encode_into(buf, 0, value)])


def refused(data) -> str:
    try:
        Manifest(data)
    except ReleaseError as error:
        return str(error)
    raise AssertionError("not refused")


def test_a_manifest_is_read() -> None:
    manifest = Manifest(encoded(fields()))
    assert (manifest.version, manifest.board, manifest.micropython) == ("1.2.3", "pico", "1.28.0")
    assert (manifest.protocol, manifest.journal, manifest.may_go_back) == (3, 1, False)
    assert manifest.files[1] == ("sabot_protocol/boards/x_1.mpy", 9, DIGEST)
    assert manifest.size == 16


def test_bytes_that_are_not_a_manifest_are_refused_with_the_reason() -> None:
    good = encoded(fields())
    assert "is not CBOR" in refused(b"") and "is not CBOR" in refused(good[:-1])
    assert "is not CBOR" in refused(good + b"\0")
    assert refused(encoded([1, 2])) == "manifest has other fields"
    assert refused(encoded(fields(more=1))) == "manifest has other fields"
    for name in fields():
        assert refused(encoded(fields(**{name: None}))) == "manifest has other fields"
        assert refused(encoded(fields(**{name: b""}))) == "manifest." + name
    assert refused(encoded(fields(protocol=True))) == "manifest.protocol"
    assert refused(encoded(fields(may_go_back=1))) == "manifest.may_go_back"
    assert refused(encoded(fields(release=2))) == "manifest of version 2"
    assert "more than 8192 bytes" in refused(bytes(8193))


def test_a_version_is_three_numbers() -> None:
    for version in ("", "1", "1.2", "1.2.3.4", "1.2.x", "1..3", "1.2.-3", " 1.2.3", "1.2.12345"):
        assert refused(encoded(fields(version=version))) == "not a version: " + version
        assert refused(encoded(fields(micropython=version))) == "not a version: " + version
    assert release.numbers_of("1.28.0") > release.numbers_of("1.9.30")


def test_a_file_with_another_place_or_name_is_refused() -> None:
    for path in (
        "main.mpy",
        "/sabot_firmware/main.mpy",
        "sabot_firmware/../main.mpy",
        "sabot_firmware//main.mpy",
        "sabot_firmware/.mpy",
        "sabot_firmware/main.py",
        "sabot_firmware/Main.mpy",
        "sabot_firmware\\main.mpy",
        "state/settings.mpy",
        "sabot_firmware",
        "",
        "sabot_firmware/" + 40 * "a" + ".mpy",
    ):
        files = [[path, 7, DIGEST]]
        assert refused(encoded(fields(files=files))) == "a file is not a module", path


def test_files_have_an_order_sizes_and_hashes() -> None:
    def why(*files) -> str:
        return refused(encoded(fields(files=list(files))))

    main, other = ["sabot_firmware/main.mpy", 7, DIGEST], ["sabot_firmware/a.mpy", 7, DIGEST]
    assert why(main, other) == "sabot_firmware/a.mpy is out of order"
    assert why(main, main) == "sabot_firmware/main.mpy is out of order"
    for size in (0, -1, 65537, True, "7"):
        assert (
            why(["sabot_firmware/main.mpy", size, DIGEST]) == "sabot_firmware/main.mpy has no size"
        )
    for digest in (b"", DIGEST[:-1], DIGEST + b"\0", "0" * 32):
        assert (
            why(["sabot_firmware/main.mpy", 7, digest]) == "sabot_firmware/main.mpy has no SHA-256"
        )
    assert why(other) == "no sabot_firmware/main.mpy" == why()
    assert why(["sabot_firmware/main.mpy", 7]) == "manifest.files" == why(7)
    many = [["sabot_firmware/a%02d.mpy" % i, 7, DIGEST] for i in range(97)]
    assert why(*many) == "more than 96 files"
    large = [["sabot_firmware/a%d.mpy" % i, 65536, DIGEST] for i in range(7)]
    assert why(*large) == "files have more than 400000 bytes"


def test_the_signed_message_depends_on_every_byte_and_fits_one_block_of_sha512() -> None:
    data = encoded(fields())
    assert release.signed(data) == b"sabot release 1" + hashlib.sha256(data).digest()
    assert release.signed(data) != release.signed(data[:-1] + b"\0")
    assert 64 + len(release.signed(data)) + 17 <= 128


def test_a_shoe_refuses_a_release_that_is_not_for_it() -> None:
    def why(board="pico", micropython="1.28.0", running="1.2.3", **other) -> tuple[str, str]:
        return release.refusal(Manifest(encoded(fields(**other))), board, micropython, running)

    assert why() == ("none", "") == why(running="1.2.2") == why(micropython="1.29.0")
    assert why(board="sim") == ("bad_board", "sim")
    assert why(micropython="1.27.9") == ("old_python", "1.27.9")
    assert why(running="1.3.0") == ("older", "1.3.0")
    assert why(running="1.10.0", version="1.9.0") == ("older", "1.10.0")
    assert why(running="1.3.0", may_go_back=True) == ("none", "")
