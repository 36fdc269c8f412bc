"""Requests signed by a wallet (contract: Wallet signatures): the text, the headers that carry the signature, and
wallets over a key in memory (extra `wallet`).

The full text names the service and the headers that choose what the request does, so that no other service and no
other headers can use the signature: `METHOD|PATH|BODYHASH|TIMESTAMP|ORIGIN|HEADERSHASH`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Protocol

#: Headers that the full text covers, in its order.
_BOUND_HEADERS = ("idempotency-key", "x-agent-id", "x-grants", "x-subject-id", "x-thread-id")


class Wallet(Protocol):
    """Holder of the key: a key in memory, a hardware wallet, a signing service."""

    @property
    def address(self) -> str:
        """EVM, `0x` and 40 hex digits, or a Solana address in base58."""
        ...

    def sign(self, message: str) -> str:
        """EVM: personal message (EIP-191) in hex. Solana: Ed25519 over the UTF-8 bytes in Base64."""
        ...


class EvmWallet:
    """A wallet over a secp256k1 key: 32 bytes, or their hex."""

    def __init__(self, private_key: str | bytes) -> None:
        from eth_account import Account

        self._account = Account.from_key(private_key)
        self.address: str = self._account.address.lower()

    def sign(self, message: str) -> str:
        from eth_account.messages import encode_defunct

        return "0x" + bytes(self._account.sign_message(encode_defunct(text=message)).signature).hex()


class SolanaWallet:
    """A wallet over an Ed25519 key: its 32 secret bytes, or the 64 of a key file, also in base58."""

    def __init__(self, secret_key: str | bytes) -> None:
        import base58
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        secret = base58.b58decode(secret_key) if isinstance(secret_key, str) else secret_key
        if len(secret) not in (32, 64):
            raise ValueError("a Solana key has 32 or 64 bytes")
        self._key = Ed25519PrivateKey.from_private_bytes(secret[:32])
        public_key = self._key.public_key().public_bytes_raw()
        if len(secret) == 64 and secret[32:] != public_key:
            raise ValueError("the two halves of the Solana key do not belong together")
        self.address: str = base58.b58encode(public_key).decode()

    def sign(self, message: str) -> str:
        return base64.b64encode(self._key.sign(message.encode())).decode()


def wallet_request_text(
    *,
    method: str,
    path: str,
    body: bytes,
    timestamp_millis: int,
    audience: str | None,
    headers: Mapping[str, str],
) -> str:
    """`path` from the version prefix on, with its query, as it is sent; without an audience the plain text."""
    plain = [method.upper(), path, hashlib.sha256(body).hexdigest(), str(timestamp_millis)]
    if audience is None:
        return "|".join(plain)
    lines = "".join(f"{name}:{headers[name].strip(' ' + chr(9))}\n" for name in _BOUND_HEADERS if name in headers)
    return "|".join([*plain, audience, hashlib.sha256(lines.encode("latin-1")).hexdigest()])


def wallet_headers(
    wallet: Wallet,
    *,
    method: str,
    path: str,
    body: bytes,
    timestamp_millis: int,
    audience: str | None,
    headers: Mapping[str, str],
) -> dict[str, str]:
    text = wallet_request_text(
        method=method,
        path=path,
        body=body,
        timestamp_millis=timestamp_millis,
        audience=audience,
        headers=headers,
    )
    named = {} if audience is None else {"x-wallet-audience": audience}
    return {
        "x-wallet-address": wallet.address,
        "x-wallet-timestamp": str(timestamp_millis),
        **named,
        "x-wallet-signature": wallet.sign(text),
    }
