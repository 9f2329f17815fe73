"""A certificate that is its own authority; for tests only."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


def self_signed(folder: Path, *hosts: str, address: str = "127.0.0.1", begins: int = -1) -> Path:
    """Write ``cert.pem`` and ``key.pem`` for an address and the hosts named; returns the certificate.

    It is good for two days from the day on that is so many from now.
    """
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC) + timedelta(days=begins)
    names = [x509.IPAddress(ip_address(address)), *map(x509.DNSName, hosts)]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(x509.Name([]))
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(names), critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "key.pem").write_bytes(private)
    return folder / "cert.pem"
