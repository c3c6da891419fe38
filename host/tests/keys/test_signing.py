"""The operator's key and signature, compared with vectors of RFC 8032 and keys in PEM."""

import base64
import os
from pathlib import Path

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from sabot.errors import KeysUnusable
from sabot.keys import signing

# RFC 8032, 7.1, test 3.
_SECRET = bytes.fromhex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7")
_PUBLIC = bytes.fromhex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025")
_MESSAGE = bytes.fromhex("af82")
_SIGNATURE = bytes.fromhex(
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
    "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
)
_ORDER = (1 << 252) + 27742317777372353535851937790883648493


def _private() -> signing.PrivateKey:
    return ed25519.Ed25519PrivateKey.from_private_bytes(_SECRET)


def test_signatures_are_as_in_rfc_8032() -> None:
    assert signing.public_of(_private()) == _PUBLIC
    assert signing.sign(_private(), _MESSAGE) == _SIGNATURE
    assert signing.verify(_PUBLIC, _SIGNATURE, _MESSAGE)


def test_no_other_message_key_or_signature_verifies() -> None:
    for at in range(64):
        changed = bytearray(_SIGNATURE)
        changed[at] ^= 1
        assert not signing.verify(_PUBLIC, bytes(changed), _MESSAGE)
    assert not signing.verify(_PUBLIC, _SIGNATURE, _MESSAGE + b"\0")
    assert not signing.verify(bytes(32), _SIGNATURE, _MESSAGE)
    for size in (0, 31, 33):
        assert not signing.verify(_PUBLIC[:1] * size, _SIGNATURE, _MESSAGE)
    assert not signing.verify(_PUBLIC, _SIGNATURE[:63], _MESSAGE)


def test_a_signature_has_no_second_form() -> None:
    second = int.from_bytes(_SIGNATURE[32:], "little") + _ORDER
    malleable = _SIGNATURE[:32] + second.to_bytes(32, "little")
    assert not signing.verify(_PUBLIC, malleable, _MESSAGE)


def test_the_files_are_pem_that_other_tools_read(tmp_path: Path) -> None:
    private, public, fingerprint = signing.make_key_pair(tmp_path / "house")
    assert (private.name, public.name) == ("house.pem", "house.pub.pem")
    assert private.read_text().splitlines()[0] == "-----BEGIN PRIVATE KEY-----"
    begin, body, _ = public.read_text().splitlines()
    assert begin == "-----BEGIN PUBLIC KEY-----"
    raw = base64.b64decode(body)[-32:]  # RFC 8410: the structure ends with the key
    assert raw == signing.load_public(public) == signing.public_of(signing.load_private(private))
    assert signing.fingerprint(raw) == fingerprint
    assert sorted(path.name for path in tmp_path.glob("house*")) == ["house.pem", "house.pub.pem"]


def test_only_its_owner_may_read_a_new_private_key(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        private, _, _ = signing.make_key_pair(tmp_path / "house")
    finally:
        os.umask(before)
    assert private.stat().st_mode & 0o777 == 0o600
    assert not signing.exposed(private)
    private.chmod(0o640)
    assert signing.exposed(private)


@pytest.mark.parametrize("existing", ["house.pem", "house.pub.pem"])
def test_an_existing_key_is_not_overwritten(tmp_path: Path, existing: str) -> None:
    (tmp_path / existing).write_text("precious")
    with pytest.raises(KeysUnusable, match=rf"{existing}: exists already"):
        signing.make_key_pair(tmp_path / "house")
    assert [path.name for path in tmp_path.glob("house*")] == [existing]
    assert (tmp_path / existing).read_text() == "precious"


def test_two_keys_differ(tmp_path: Path) -> None:
    _, _, one = signing.make_key_pair(tmp_path / "one")
    _, _, two = signing.make_key_pair(tmp_path / "two")
    assert one != two


def test_a_folder_where_no_key_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(KeysUnusable, match=r"cannot be written \(No such file or directory\)"):
        signing.make_key_pair(tmp_path / "none" / "house")


def test_ctrl_c_does_not_leave_half_a_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []

    def interrupted(descriptor: int) -> None:
        synced.append(descriptor)
        if len(synced) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        signing.make_key_pair(tmp_path / "house")
    assert len(synced) == 2 and not list(tmp_path.glob("house*"))


def _pem(key: object, encryption: object = None) -> bytes:
    return key.private_bytes(  # type: ignore[attr-defined,no-any-return]
        Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()
    )


def test_what_is_not_a_private_key_is_refused(tmp_path: Path) -> None:
    rsa_key = rsa.generate_private_key(65537, 2048)
    public = _private().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for data, message in (
        (b"", "not a private Ed25519 key"),
        (b"Dear sir or madam", "not a private Ed25519 key"),
        (_pem(_private())[:60], "not a private Ed25519 key"),
        (public, "not a private Ed25519 key"),
        (_pem(rsa_key), "not a private Ed25519 key"),
        (_pem(_private(), BestAvailableEncryption(b"secret")), "locked with a passphrase"),
        (b"\0" * 100_000, "not a private Ed25519 key"),
    ):
        (tmp_path / "key").write_bytes(data)
        with pytest.raises(KeysUnusable, match=message):
            signing.load_private(tmp_path / "key")
    with pytest.raises(KeysUnusable, match="No such file"):
        signing.load_private(tmp_path / "none")
    with pytest.raises(KeysUnusable, match="Is a directory"):
        signing.load_private(tmp_path)


def test_what_is_not_a_public_key_is_refused(tmp_path: Path) -> None:
    rsa_public = rsa.generate_private_key(65537, 2048).public_key()
    pem = rsa_public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for data in (b"", b"\xff" * 99, pem, _pem(_private())):
        (tmp_path / "key").write_bytes(data)
        with pytest.raises(KeysUnusable, match=r"not a public Ed25519 key; name a NAME"):
            signing.load_public(tmp_path / "key")


def test_a_public_key_of_small_order_is_refused(tmp_path: Path) -> None:
    """For it anyone can sign: openssl and its library read such a file as any other key."""
    neutral = ed25519.Ed25519PublicKey.from_public_bytes(b"\x01" + bytes(31))
    pem = neutral.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "key").write_bytes(pem)
    with pytest.raises(KeysUnusable, match="a key of small order, for which anyone can sign"):
        signing.load_public(tmp_path / "key")


def test_a_private_key_is_in_no_error_and_no_repr(tmp_path: Path) -> None:
    secrets = [_SECRET.hex(), repr(_SECRET), base64.b64encode(_SECRET).decode(), str(_SECRET)]
    pem = _pem(_private())
    secrets.append(pem.splitlines()[1].decode())
    shown = [repr(_private()), str(_private())]
    for data in (pem[:-30], pem.replace(b"PRIVATE", b"SECRET"), pem + pem):
        (tmp_path / "key").write_bytes(data)
        for load in (signing.load_private, signing.load_public):
            try:
                load(tmp_path / "key")
            except KeysUnusable as error:
                shown.append(f"{error!r} {error} {error.__cause__}")
    assert len(shown) > 4
    for text in shown:
        assert not any(secret in text for secret in secrets)


def test_a_sealed_document_is_read_again_with_its_signer() -> None:
    sealed = signing.open_sealed(signing.seal(_private(), {"format": "x", "list": [1, b"2", None]}))
    assert sealed.signed
    assert sealed.document == {"format": "x", "list": [1, b"2", None], "public_key": _PUBLIC}


def test_a_seal_is_the_signature_over_the_documents_bytes() -> None:
    document, signature = cbor2.loads(signing.seal(_private(), {"b": 1, "a": 2}))
    assert document == cbor2.dumps({"b": 1, "a": 2, "public_key": _PUBLIC}, canonical=True)
    assert signing.verify(_PUBLIC, signature, document)


def test_a_changed_document_is_not_signed_and_a_damaged_one_is_refused() -> None:
    data = signing.seal(_private(), {"format": "x"})
    for at in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            try:
                assert not signing.open_sealed(bytes(changed)).signed
            except signing.NotSealed:
                pass
    for cut in range(len(data)):
        with pytest.raises(signing.NotSealed):
            signing.open_sealed(data[:cut])
    with pytest.raises(signing.NotSealed):
        signing.open_sealed(data + b"\0")


@pytest.mark.parametrize(
    "data",
    [
        "", "00", "f6", "80", "8140", "824000", "82a0a0", "82406100", "824040", "9f4040ff",
        "8241a040", "8248a1000000000000", "5b1000000000000000", "9b1000000000000000",
        "d81c81d81d00", "82" + "d81c81d81d0040", "81" * 1000, "82590001a040",
        "8243a1010040", "824aa261610161610141ff40", "c11a514b67b0", "d82363285b5d",
    ],
)  # fmt: skip
def test_odd_cbor_is_refused_and_harmless(data: str) -> None:
    with pytest.raises(signing.NotSealed):
        signed = signing.open_sealed(bytes.fromhex(data)).signed
        assert not signed
        raise signing.NotSealed
