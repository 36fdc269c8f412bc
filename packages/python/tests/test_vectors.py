"""What is signed and verified agrees with the vectors that the service and the TypeScript client are held to."""

from __future__ import annotations

import json
import os
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

from muniment.answers import PreviousKey, PublishedKeys
from muniment.attestation import verify_attestation
from muniment.canonical_json import canonical_json
from muniment.errors import InvalidRequestError
from muniment.grants import decode_share_code, encode_share_code, grant_message, grant_prefix, grants_header
from muniment.wallet import EvmWallet, SolanaWallet, Wallet, wallet_request_text

VECTORS = Path(os.environ["MUNIMENT_VECTORS"])


def loaded(name: str) -> Any:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


class CanonicalJson(unittest.TestCase):
    def test_prints_what_the_vectors_say(self) -> None:
        for case in loaded("canonical-json.json")["accepted"]:
            with self.subTest(case["name"]):
                self.assertEqual(canonical_json(json.loads(case["input"])), case["canonical"])

    def test_refuses_what_the_vectors_refuse(self) -> None:
        for case in loaded("canonical-json.json")["refused"]:
            # A duplicate key is gone once a text is parsed: only a reader of the text can refuse it.
            if case["reason"] == "duplicate_key":
                continue
            with self.subTest(case["name"]), self.assertRaises(InvalidRequestError) as caught:
                canonical_json(json.loads(case["input"]))
            self.assertEqual(caught.exception.code, "not_canonical")

    def test_prints_numbers_as_ecmascript_does(self) -> None:
        texts = ("0", "1.5", "-1e-7", "0.000001", "1e+21", "1.25e+25", "5e-324", "100", "123.456")
        for text in texts:
            self.assertEqual(canonical_json(float(text)), text)

    def test_refuses_what_json_has_no_form_of(self) -> None:
        for value in (float("nan"), {1: 2}, {"a": b"x"}, {"a": {1, 2}}, "\ud800"):
            with self.assertRaises(InvalidRequestError):
                canonical_json(value)


class Grants(unittest.TestCase):
    def test_agree_with_the_vectors(self) -> None:
        for case in loaded("grants.json")["cases"]:
            with self.subTest(case["name"]):
                grant = case["grant"]
                self.assertEqual(grant_message(case["prefix"], grant["p"]), case["message"])
                self.assertEqual(encode_share_code([grant]), case["shareCode"])
                self.assertEqual(decode_share_code(f" {case['shareCode']}\n"), [grant])
                self.assertEqual(grants_header([grant]), case["header"])
                self.assertEqual(grants_header(case["shareCode"]), case["header"])

    def test_begin_with_the_name_of_the_service(self) -> None:
        self.assertEqual(grant_prefix(), "muniment:grant:v1:")

    def test_are_refused_before_they_are_sent(self) -> None:
        grant = loaded("grants.json")["cases"][0]["grant"]
        for code in ("share_W10", "mshare_%%%", "mshare_Ww", "mshare_e30", "mshare_" + "A" * 20_000):
            with self.subTest(code[:20]), self.assertRaises(InvalidRequestError) as caught:
                decode_share_code(code)
            self.assertEqual(caught.exception.code, "invalid_grants_header")
        with self.assertRaises(InvalidRequestError) as caught:
            grants_header([grant] * 11)
        self.assertEqual(caught.exception.code, "too_many_grants")


class WalletRequests(unittest.TestCase):
    def test_are_signed_as_the_vectors_are(self) -> None:
        wallets: dict[str, Wallet] = {"evm": EvmWallet("0x" + "1c" * 32), "sol": SolanaWallet(bytes([0x3E] * 32))}
        signed = 0
        for case in loaded("wallet-requests.json")["cases"]:
            with self.subTest(case["name"]):
                headers = case["headers"]
                text = wallet_request_text(
                    method=case["method"],
                    path=case["path"],
                    body=case["body"].encode(),
                    timestamp_millis=int(headers["x-wallet-timestamp"]),
                    audience=headers.get("x-wallet-audience"),
                    headers=headers,
                )
                self.assertEqual(text, case["text"])
                wallet = wallets[case["family"]]
                if headers["x-wallet-address"] == wallet.address:
                    self.assertEqual(wallet.sign(text), headers["x-wallet-signature"])
                    signed += 1
        self.assertGreater(signed, 10)

    def test_take_keys_in_their_usual_forms(self) -> None:
        import base58

        wallet = SolanaWallet(bytes([7] * 32))
        pair = bytes([7] * 32) + base58.b58decode(wallet.address)
        self.assertEqual(SolanaWallet(base58.b58encode(pair).decode()).address, wallet.address)
        self.assertEqual(EvmWallet(bytes([7] * 32)).address, EvmWallet("07" * 32).address)
        for broken in (b"short", pair[:63] + b"\x00"):
            with self.assertRaises(ValueError):
                SolanaWallet(broken)


class Attestations(unittest.TestCase):
    def setUp(self) -> None:
        vectors = loaded("attestations.json")
        self.cases: list[dict[str, Any]] = vectors["cases"]
        self.now: int = vectors["nowSeconds"]
        self.public_key: str = vectors["publicKey"]
        self.key = PreviousKey(self.public_key, issued_at=1, retired_at=self.now * 1_000)
        # Another key first: that of the Solana wallet, as bytes.
        self.published = PublishedKeys("0x" + "01".rjust(64, "0"), "Ed25519", 2, (self.key,))

    def test_are_judged_as_the_vectors_say(self) -> None:
        for case in self.cases:
            with self.subTest(case["name"]):
                ends = case.get("key", {})
                key = replace(
                    self.key,
                    retired_at=ends.get("retiredAt", self.key.retired_at),
                    revoked_at=ends.get("revokedAt"),
                )
                verdict = verify_attestation(case, replace(self.published, previous_keys=(key,)), self.now)
                self.assertEqual(verdict.reason or "valid", case["expected"])
                self.assertEqual(bool(verdict), case["expected"] == "valid")

    def test_hold_until_the_second_of_their_expiry(self) -> None:
        first = self.cases[0]
        expiry = first["attestation"]["expiresAt"]
        self.assertIsNone(verify_attestation(first, self.public_key, expiry - 1).reason)
        self.assertEqual(verify_attestation(first, self.public_key, expiry).reason, "expired")

    def test_are_refused_with_a_reason(self) -> None:
        first = self.cases[0]

        def altered(**members: Any) -> dict[str, Any]:
            return {**first, "attestation": {**first["attestation"], **members}}

        off_curve = "0x" + "ff" * 32
        for name, signed, key, reason in (
            ("a key of the wrong length", first, self.public_key[:-2], "malformed_public_key"),
            ("a key in capitals", first, self.public_key.upper(), "malformed_public_key"),
            ("no point of the curve", first, off_curve, "bad_signature"),
            ("no 0x", {**first, "signature": first["signature"][2:]}, self.public_key, "malformed_signature"),
            ("null", {**first, "attestation": None}, self.public_key, "malformed_attestation"),
            ("no result", altered(result=[]), self.public_key, "malformed_attestation"),
            ("a member more", altered(more=1), self.public_key, "bad_signature"),
        ):
            with self.subTest(name):
                self.assertEqual(verify_attestation(signed, key, self.now).reason, reason)


if __name__ == "__main__":
    unittest.main()
