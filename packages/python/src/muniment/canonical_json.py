"""Canonical JSON (RFC 8785): keys sorted by UTF-16 code unit at every level, no spaces, numbers as ECMAScript prints
them.

Invariant: values that JSON cannot represent, or that another parser would alter, are refused, as the service does: a
signature over such a text would mean different things to different readers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from .errors import InvalidRequestError

_DEPTH_MAX = 64
_SAFE_INTEGER_MAX = 2**53 - 1
#: Numbers from here on are printed with an exponent, and every parser reads them as doubles.
_EXPONENT_FROM = 1e21


def canonical_json(value: Any) -> str:
    """Raises `InvalidRequestError` with code `not_canonical`."""
    return _text(value, 1)


def _text(value: Any, depth: int) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, (int, float)):
        return _number(value)
    if not isinstance(value, (Mapping, list, tuple)):
        raise _refused(f"no JSON form of {type(value).__name__}")
    if depth > _DEPTH_MAX:
        raise _refused(f"nested deeper than {_DEPTH_MAX}")
    if not isinstance(value, Mapping):
        return "[" + ",".join(_text(item, depth + 1) for item in value) + "]"
    if not all(isinstance(key, str) for key in value):
        raise _refused("a key that is no text")
    if "__proto__" in value:
        raise _refused("the key __proto__")
    keys = {_string(key): key for key in value}
    ordered = sorted(keys.items(), key=lambda pair: pair[1].encode("utf-16-be"))
    return "{" + ",".join(f"{text}:{_text(value[key], depth + 1)}" for text, key in ordered) + "}"


def _string(value: str) -> str:
    if any("\ud800" <= unit <= "\udfff" for unit in value):
        raise _refused("a lone surrogate")
    return json.dumps(value, ensure_ascii=False)


def _number(value: int | float) -> str:
    if isinstance(value, int):
        if abs(value) > _SAFE_INTEGER_MAX:
            raise _refused("an integer beyond 2^53")
        return str(int(value))
    if not math.isfinite(value):
        raise _refused("not a finite number")
    if value.is_integer() and _SAFE_INTEGER_MAX < abs(value) < _EXPONENT_FROM:
        raise _refused("an integer beyond 2^53")
    return _double(value)


def _double(value: float) -> str:
    """As ECMAScript prints a double: the shortest digits, which `repr` finds too, placed its own way."""
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    # Where the decimal point stands, counted from the first digit that is not 0.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if 0 < point <= 21:
        text = digits[:point].ljust(point, "0") + ("." + digits[point:] if count > point else "")
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if count > 1 else "") + f"e{point - 1:+d}"
    return ("-" if value < 0 else "") + text


def _refused(reason: str) -> InvalidRequestError:
    return InvalidRequestError(f"no canonical JSON: {reason}", code="not_canonical")
