"""The packages of the `jwt` extra, imported in one place, so that their absence says what to install."""

from __future__ import annotations

from recollect.errors import MissingExtraError

try:
    import jwt
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
except ModuleNotFoundError as exc:
    raise MissingExtraError(
        "a JWT needs packages that are not installed; install recollect[jwt], "
        "for example with: pip install 'recollect[jwt]'"
    ) from exc

__all__ = [
    "SECP256R1",
    "Ed25519PublicKey",
    "EllipticCurvePublicKey",
    "RSAPublicKey",
    "UnsupportedAlgorithm",
    "jwt",
    "load_pem_public_key",
]
