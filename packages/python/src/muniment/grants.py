"""Grants (contract: Grants) as a client handles them: the text that a grantor's wallet signs, the `X-Grants` header,
and share codes, `mshare_` and the grants in url-safe Base64. Only the service decides whether a grant is valid.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Union, cast

from .canonical_json import canonical_json
from .errors import InvalidRequestError, MunimentError


class _Parties(TypedDict):
    f: str
    g: str
    e: int


class GrantPayload(_Parties, total=False):
    """From `f` to `g`, until `e` (seconds); of agent `a`, of subject `u`, of what owner `o` alone may read, `h`:
    with older versions."""

    a: str
    u: str
    o: str
    h: bool


class Grant(TypedDict):
    """A payload, its signature (hex or Base64), and the family of the wallet."""

    p: GrantPayload
    s: str
    c: Literal["evm", "sol"]


#: Grants, or the share code that holds them.
GrantsInput = Union[Sequence[Grant], str]

_GRANTS_MAX = 10
#: As much as the service reads of the header.
_TEXT_LENGTH_MAX = 16_384
_SHARE_CODE_PREFIX = "mshare_"
_SAFE_INTEGER_MAX = 2**53 - 1


def grant_prefix(service: str = "muniment") -> str:
    return f"{service}:grant:v1:"


def grant_message(prefix: str, payload: GrantPayload) -> str:
    """What the wallet of `payload["f"]` signs: EVM as a personal message (EIP-191), Solana as UTF-8 bytes."""
    return prefix + _base64_of(payload)


def encode_share_code(grants: Sequence[Grant]) -> str:
    return _SHARE_CODE_PREFIX + _base64_of(grants).replace("+", "-").replace("/", "_").rstrip("=")


def decode_share_code(code: str) -> Sequence[Grant]:
    """Raises `InvalidRequestError` with code `invalid_grants_header` or `too_many_grants`."""
    trimmed = code.strip()
    if not trimmed.startswith(_SHARE_CODE_PREFIX):
        raise _malformed(f"is no share code; those begin with {_SHARE_CODE_PREFIX}")
    if len(trimmed) > _TEXT_LENGTH_MAX:
        raise _malformed("is too long")
    return _checked(_json_of(trimmed[len(_SHARE_CODE_PREFIX) :]))


def grants_header(grants: GrantsInput) -> str:
    """Value of the `X-Grants` header."""
    return _base64_of(decode_share_code(grants) if isinstance(grants, str) else _checked(list(grants)))


def _checked(value: Any) -> Sequence[Grant]:
    if not isinstance(value, list):
        raise _malformed("is not a JSON array")
    if len(value) > _GRANTS_MAX:
        raise InvalidRequestError(f"at most {_GRANTS_MAX} grants per request", code="too_many_grants")
    if not all(_is_grant(item) for item in value):
        raise _malformed("holds an element that is not {p: {f, g, e, a?, u?, o?, h?}, s, c}")
    return cast("Sequence[Grant]", value)


def _is_grant(value: Any) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("p"), Mapping):
        return False
    payload = value["p"]
    expiry = payload.get("e")
    return (
        all(_is_name(payload.get(name)) for name in ("f", "g"))
        and isinstance(expiry, int)
        and not isinstance(expiry, bool)
        and abs(expiry) <= _SAFE_INTEGER_MAX
        and all(name not in payload or _is_name(payload[name]) for name in ("a", "u", "o"))
        and isinstance(payload.get("h", False), bool)
        and isinstance(value.get("s"), str)
        and isinstance(value.get("c"), str)
    )


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _json_of(text: str) -> Any:
    try:
        return json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, UnicodeDecodeError, ValueError, RecursionError):
        # None is no array: the caller says that the code cannot be read.
        return None


def _base64_of(value: Any) -> str:
    return base64.b64encode(canonical_json(value).encode()).decode()


def _malformed(what: str) -> MunimentError:
    return InvalidRequestError(f"the list of grants {what}", code="invalid_grants_header")
