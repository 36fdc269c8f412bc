"""
Pays with the stock client `x402` of Python, for test/support/PythonPayer.ts. Each line of the input is a JSON object: one
HTTP request and who pays if it is answered 402. Each line of the output is the last answer, or `error`.
"""

import asyncio
import json
import sys

from eth_account import Account
from solders.keypair import Keypair
from x402 import x402Client, x402ClientSync
from x402.http import x402HTTPClientSync
from x402.http.clients.httpx import x402HttpxClient
from x402.http.clients.requests import x402_requests
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact.register import register_exact_evm_client
from x402.mechanisms.svm import KeypairSigner
from x402.mechanisms.svm.exact.register import register_exact_svm_client


class FirstVersion(x402HTTPClientSync):
    """Reads a 402 without the header of protocol version 2, as behind a proxy that removes it."""

    def get_payment_required_response(self, get_header, body=None):
        return super().get_payment_required_response(lambda name: None, body)


def paying(client, order):
    key = bytes.fromhex(order["key"].removeprefix("0x"))
    if order["network"] == "base-sepolia":
        return register_exact_evm_client(client, EthAccountSigner(Account.from_key(key)))
    return register_exact_svm_client(client, KeypairSigner(Keypair.from_seed(key)), rpc_url=order["rpcUrl"])


def by_requests(order):
    client = paying(x402ClientSync(), order)
    session = x402_requests(FirstVersion(client) if order["version"] == 1 else client)
    return session.request(order["method"], order["url"], headers=order["headers"], data=order["body"])


async def by_httpx(order):
    async with x402HttpxClient(paying(x402Client(), order), timeout=60) as session:
        return await session.request(order["method"], order["url"], headers=order["headers"], content=order["body"])


def answer(order):
    try:
        response = asyncio.run(by_httpx(order)) if order["library"] == "httpx" else by_requests(order)
        return {"status": response.status_code, "headers": dict(response.headers), "text": response.text}
    except Exception as error:
        return {"error": repr(error)}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
