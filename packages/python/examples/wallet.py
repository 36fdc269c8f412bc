"""A wallet in place of a key, and a signed statement about its memories: extras `wallet` and `attest`.

    python wallet.py
"""

import secrets

from muniment import Muniment, NewMemory
from muniment.attestation import verify_attestation
from muniment.wallet import EvmWallet


def main() -> None:
    wallet = EvmWallet(secrets.token_bytes(32))
    with Muniment(wallet=wallet) as memory:
        fact = NewMemory("factual_memory", {"subject": "the sky", "fact": "The sky is blue"})
        memory.create(agent_id="assistant", memories=[fact])
        signed = memory.attest({"claim": "memory_count_gte", "threshold": 1})
        print(wallet.address, "has a memory:", signed.attestation["result"]["satisfied"])
        print("signed by the service:", bool(verify_attestation(signed, memory.public_keys())))


if __name__ == "__main__":
    main()
