"""Checks test/vectors with Python's standard library alone, sharing no code with the service.

Canonical JSON, hashes, signed texts, envelopes and EVM signatures: Keccak-256 and the recovery of
secp256k1 keys are written out below, as the library has neither. Ed25519 is left to Node's crypto and
openssl. Usage: python3 verify_trust_vectors.py <directory>; prints the number of checks.
"""

import base64
import hashlib
import json
import math
import os
import sys

checks = 0


def check(holds, *what):
    global checks
    checks += 1
    if not holds:
        raise SystemExit("disagreement: " + " / ".join(map(str, what)))


# Canonical JSON (RFC 8785). json.dumps does the strings; numbers and the order of keys are ours:
# Python prints 1e-07 and 1.0, and sorts by code point where the RFC sorts by UTF-16 code unit.


def canonical(value):
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return "{" + ",".join(canonical(key) + ":" + canonical(inner) for key, inner in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(float(value))
    return json.dumps(value, ensure_ascii=False)


def number(value):
    """As ECMAScript prints a double: the shortest digits, which repr finds too, placed its own way."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + ("" if fraction == "0" else fraction)).lstrip("0")
    point = len(whole.lstrip("0")) + int(exponent or 0)
    if whole == "0":
        point -= len(fraction) - len(fraction.lstrip("0"))
    digits = digits.rstrip("0")
    count = len(digits)
    if 0 < point <= 21:
        text = digits[:point].ljust(point, "0") + ("." + digits[point:] if count > point else "")
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        power = point - 1
        text = digits[0] + ("." + digits[1:] if count > 1 else "") + ("e+" if power > 0 else "e-") + str(abs(power))
    return sign + text


def refusal(text):
    """Why a text is not taken, in the service's words, or None."""

    def members(pairs):
        keys = [key for key, _ in pairs]
        if "__proto__" in keys:
            raise ValueError("prototype_key")
        if len(set(keys)) < len(keys):
            raise ValueError("duplicate_key")
        return dict(pairs)

    def look(value, depth):
        if isinstance(value, (dict, list)) and depth > 64:
            raise ValueError("too_deep")
        if isinstance(value, int) and abs(value) >= 2**53:
            raise ValueError("unsafe_integer")
        if isinstance(value, float) and math.isinf(value):
            raise ValueError("infinite_number")
        if isinstance(value, str) and any(0xD800 <= ord(unit) < 0xE000 for unit in value):
            raise ValueError("lone_surrogate")
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            look(inner, depth + 1)

    try:
        look(json.loads(text, object_pairs_hook=members), 1)
        return None
    except ValueError as error:
        return str(error)


# Keccak-256 as Ethereum has it: the padding of SHA-3 before it was standardised.


def keccak256(data):
    lanes = [[0] * 5 for _ in range(5)]
    rate = 136
    padded = bytearray(data + b"\x01")
    padded += b"\x00" * (-len(padded) % rate)
    padded[-1] |= 0x80
    for start in range(0, len(padded), rate):
        for lane in range(rate // 8):
            at = start + 8 * lane
            lanes[lane % 5][lane // 5] ^= int.from_bytes(padded[at : at + 8], "little")
        keccak_f(lanes)
    return b"".join(lanes[lane % 5][lane // 5].to_bytes(8, "little") for lane in range(4))


def rotated(lane, by):
    by %= 64
    return ((lane << by) | (lane >> (64 - by))) & (2**64 - 1)


def keccak_f(a):
    register = 1
    for _ in range(24):
        c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
        for x in range(5):
            d = c[(x + 4) % 5] ^ rotated(c[(x + 1) % 5], 1)
            for y in range(5):
                a[x][y] ^= d
        x, y, current = 1, 0, a[1][0]
        for step in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            current, a[x][y] = a[x][y], rotated(current, (step + 1) * (step + 2) // 2)
        for y in range(5):
            row = [a[x][y] for x in range(5)]
            for x in range(5):
                a[x][y] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5] & (2**64 - 1))
        for bit in range(7):
            register = (register << 1) ^ ((register >> 7) * 0x171)
            if register & 2:
                a[0][0] ^= 1 << ((1 << bit) - 1)


# secp256k1 (SEC 1, section 4.1.6): the key that made a signature.

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)


def added(one, other):
    if one is None or other is None:
        return one or other
    if one[0] == other[0]:
        if (one[1] + other[1]) % P == 0:
            return None
        slope = 3 * one[0] * one[0] * pow(2 * one[1], -1, P) % P
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, P) % P
    x = (slope * slope - one[0] - other[0]) % P
    return (x, (slope * (one[0] - x) - one[1]) % P)


def times(factor, point):
    total = None
    while factor:
        if factor & 1:
            total = added(total, point)
        point = added(point, point)
        factor >>= 1
    return total


def evm_address(message, signature):
    data = message.encode()
    digest = keccak256(b"\x19Ethereum Signed Message:\n" + str(len(data)).encode() + data)
    raw = bytes.fromhex(signature.removeprefix("0x"))
    r, s, v = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:64], "big"), raw[64]
    check(len(raw) == 65 and s <= N // 2 and v in (27, 28), "form of a signature", signature)
    y = pow(r**3 + 7, (P + 1) // 4, P)
    point = (r, y if y % 2 == v - 27 else P - y)
    inverse = pow(r, -1, N)
    key = added(times(s * inverse % N, point), times(-int.from_bytes(digest, "big") * inverse % N, G))
    return "0x" + keccak256(key[0].to_bytes(32, "big") + key[1].to_bytes(32, "big"))[12:].hex()


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def loaded(name):
    with open(os.path.join(sys.argv[1], name), encoding="utf-8") as file:
        return json.load(file)


def check_canonical_json():
    vectors = loaded("canonical-json.json")
    for case in vectors["accepted"]:
        check(refusal(case["input"]) is None, case["name"])
        text = canonical(json.loads(case["input"]))
        check(text == case["canonical"], case["name"], text)
        check(sha256(text) == case["sha256"], case["name"])
    for case in vectors["refused"]:
        check(refusal(case["input"]) == case["reason"], case["name"], refusal(case["input"]))


def check_grants():
    for case in loaded("grants.json")["cases"]:
        grant, name = case["grant"], case["name"]
        text = canonical(grant["p"])
        check(text == case["canonicalPayload"], name, text)
        check(sha256(text) == case["grantId"], name)
        check(case["prefix"] + base64.b64encode(text.encode()).decode() == case["message"], name)
        code = case["shareCode"].removeprefix("mshare_")
        for carried in (base64.b64decode(case["header"]), base64.urlsafe_b64decode(code + "=" * (-len(code) % 4))):
            check(json.loads(carried) == [grant], name)
        if grant["s"].startswith("0x") and grant["c"] == "evm":
            is_signed = evm_address(case["message"], grant["s"]) == grant["p"]["f"].lower()
            check(is_signed == (case["expected"] != "bad_signature"), name)


def check_wallet_requests():
    for case in loaded("wallet-requests.json")["cases"]:
        headers, name = case["headers"], case["name"]
        parts = [case["method"], case["path"], sha256(case["body"]), headers["x-wallet-timestamp"]]
        if "x-wallet-audience" in headers:
            bound = ["idempotency-key", "x-agent-id", "x-grants", "x-subject-id", "x-thread-id"]
            lines = "".join(f"{header}:{headers[header]}\n" for header in bound if header in headers)
            parts += [headers["x-wallet-audience"], sha256(lines)]
        check("|".join(parts) == case["text"], name)
        if case["family"] == "evm":
            check(evm_address(case["text"], headers["x-wallet-signature"]) == headers["x-wallet-address"], name)


def check_attestations():
    vectors = loaded("attestations.json")
    for case in vectors["cases"]:
        check(canonical(case["attestation"]) == case["canonical"], case["name"])
        key, issued_at = case.get("key", {}), case["attestation"]["issuedAt"] * 1000
        is_outdated = "revokedAt" in key or issued_at >= key.get("retiredAt", issued_at + 1)
        check(is_outdated == case["expected"].endswith("_key"), case["name"])
    for case in vectors["namespaces"]:
        check("0x" + sha256(f"{case['service']}:ns:v1:{case['account']}") == case["namespace"], case["account"])


check_canonical_json()
check_grants()
check_wallet_requests()
check_attestations()
print(checks)
