"""Offline verification of attestations (contract: Attestations) by Ed25519; needs the extra `attest`.

Invariant: an invalid attestation is a result with a reason; only a missing library raises.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .answers import Attested, PublishedKeys, SignedAttestation
from .canonical_json import canonical_json
from .errors import MunimentError

VerificationFault = Literal[
    "malformed_public_key",
    "malformed_signature",
    "malformed_attestation",
    "bad_signature",
    "retired_key",
    "revoked_key",
    "expired",
]

_KEY_BYTES = 32
_SIGNATURE_BYTES = 64
_SAFE_INTEGER_MAX = 2**53 - 1
#: Lower case only, as the service writes it: one spelling for one value.
_HEX = re.compile(r"0x[0-9a-f]*")


@dataclass(frozen=True)
class Verification:
    """True where `valid`; otherwise `reason` says why not."""

    reason: VerificationFault | None

    @property
    def valid(self) -> bool:
        return self.reason is None

    def __bool__(self) -> bool:
        return self.valid


@dataclass(frozen=True)
class _Key:
    public_key: Any
    retired_at: int | None = None
    revoked_at: int | None = None


def verify_attestation(
    signed: Attested | SignedAttestation | Mapping[str, Any],
    keys: str | PublishedKeys,
    now: float | None = None,
) -> Verification:
    """`signed` is an answer of `attest`, or a value of `source_attestations`.

    `keys` are those the service publishes (`public_keys()`), or one of them as `0x` hex: never the key sent with the
    attestation, which proves nothing. `now` in seconds.
    """
    if isinstance(signed, Mapping):
        attestation, signature_text = signed.get("attestation"), signed.get("signature")
    else:
        attestation, signature_text = signed.attestation, signed.signature
    known = [(key, _bytes_of(key.public_key, _KEY_BYTES)) for key in _keys_of(keys)]
    signature = _bytes_of(signature_text, _SIGNATURE_BYTES)
    text = _canonical_text_of(attestation)
    if any(public_key is None for _, public_key in known):
        return Verification("malformed_public_key")
    if signature is None:
        return Verification("malformed_signature")
    if text is None or not isinstance(attestation, Mapping) or not _is_attestation(attestation):
        return Verification("malformed_attestation")
    for key, public_key in known:
        if public_key is None or not _is_signed_by(public_key, signature, text.encode()):
            continue
        if key.revoked_at is not None:
            return Verification("revoked_key")
        if key.retired_at is not None and attestation["issuedAt"] * 1_000 >= key.retired_at:
            return Verification("retired_key")
        is_live = attestation["expiresAt"] > (time.time() if now is None else now)
        return Verification(None if is_live else "expired")
    return Verification("bad_signature")


def _keys_of(keys: str | PublishedKeys) -> list[_Key]:
    if isinstance(keys, str):
        return [_Key(keys)]
    earlier = [_Key(key.public_key, key.retired_at, key.revoked_at) for key in keys.previous_keys or ()]
    return [_Key(keys.attestation_public_key), *earlier]


def _is_signed_by(public_key: bytes, signature: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        # Bytes that are no point of the curve sign nothing.
        return False
    return True


def _bytes_of(text: Any, length: int) -> bytes | None:
    if not isinstance(text, str) or _HEX.fullmatch(text) is None or len(text) != 2 + 2 * length:
        return None
    return bytes.fromhex(text[2:])


def _canonical_text_of(value: Any) -> str | None:
    try:
        return canonical_json(value)
    except MunimentError:
        return None


def _is_attestation(value: Mapping[str, Any]) -> bool:
    result = value.get("result")
    return (
        isinstance(value.get("params"), Mapping)
        and isinstance(result, Mapping)
        and all(isinstance(text, str) for text in (value.get("claim"), value.get("issuer"), result.get("namespace")))
        and all(map(_is_safe_integer, (value.get("expiresAt"), value.get("issuedAt"), result.get("matchCount"))))
        and isinstance(result.get("satisfied"), bool)
    )


def _is_safe_integer(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and float(value).is_integer() and abs(value) <= _SAFE_INTEGER_MAX
