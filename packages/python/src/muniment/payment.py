"""What a 402 asks for (contract: Payments), the header that pays, and the receipt. The caller signs: this package
knows no chain.

Invariant: a call asks for one payment at most. A signed payment is sent again until the outcome is known; no second
one is signed.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Payment:
    """A signed payment as a request carries it: Base64 JSON, in the header of its protocol version, 1 or 2."""

    header: Literal["x-payment", "payment-signature"]
    value: str


@dataclass(frozen=True)
class PaymentDemand:
    """Body of the 402 answer. Check `accepts` before paying: amount, asset, network and payee."""

    accepts: tuple[Mapping[str, Any], ...]
    body: Mapping[str, Any]
    #: The header PAYMENT-REQUIRED, Base64 JSON: the same for libraries of protocol version 2.
    header: str | None


@dataclass(frozen=True)
class PaymentReceipt:
    """What the service says of a settled payment: hash or signature of the transaction, and where."""

    transaction: str
    network: str
    payer: str | None


def demand_of(status: int, headers: Mapping[str, str], body: Mapping[str, Any]) -> PaymentDemand | None:
    """None for a 402 of another protocol, as a proxy may send."""
    accepts = body.get("accepts")
    if status != 402 or not isinstance(accepts, list):
        return None
    return PaymentDemand(tuple(accepts), body, headers.get("payment-required"))


def receipt_of(headers: Mapping[str, str]) -> PaymentReceipt | None:
    """None when the answer has none: nothing was paid, or it is kept from before."""
    text = headers.get("payment-response") or headers.get("x-payment-response")
    if text is None:
        return None
    try:
        receipt = json.loads(base64.b64decode(text))
        return PaymentReceipt(receipt["transaction"], receipt["network"], receipt.get("payer"))
    except (ValueError, KeyError, TypeError):
        # The money is credited all the same: an unreadable receipt must not look like a failed payment.
        return None
