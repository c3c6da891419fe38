"""Certificates for servers of the tests."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        is_authority = x509.BasicConstraints(ca=True, path_length=0)
        self._own = (
            _begun(self._name, self._name, self._key.public_key())
            .add_extension(is_authority, critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def write(self, path: Path) -> Path:
        """Write its own certificate, for those who believe it."""
        path.write_bytes(self._own.public_bytes(serialization.Encoding.PEM))
        return path

    def certify(self, address: str, path: Path) -> Path:
        """Write a key and its certificate for the server at an IP address."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        at = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        signed = (
            _begun(name, self._name, key.public_key())
            .add_extension(at, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + signed.public_bytes(serialization.Encoding.PEM)
        )
        return path


def _begun(
    name: x509.Name, by: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(by)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
    )
