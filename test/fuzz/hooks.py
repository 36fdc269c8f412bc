"""What no OpenAPI document can say of valid requests, for schemathesis (README.md lists the reasons)."""

import base64
import json
import os

import requests
import schemathesis
from hypothesis import strategies as st

ACCOUNTS = set(os.environ["FUZZ_ACCOUNTS"].split(","))
KEYS = set(os.environ["FUZZ_KEYS"].split(","))
LOOKUP = json.loads(os.environ["FUZZ_LOOKUP"])
KINDS = json.loads(os.environ["FUZZ_KINDS"])
NAMES = {LOOKUP["kind"], *(kind["kind"] for kind in KINDS)}
SAFE_INTEGER = 2**53
DOUBLE_FROM = 10**21

schemathesis.openapi.format("iana-time-zone", st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata"]))
schemathesis.openapi.format(
    "wallet-address",
    st.integers(0, 2**160 - 1).map(lambda number: f"0x{number:040x}")
    | st.just("4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T"),
)
schemathesis.openapi.format(
    "json-schema-text",
    st.dictionaries(st.from_regex(r"\A[a-z]{1,8}\Z"), st.sampled_from(["string", "number", "boolean"]), max_size=4).map(
        lambda fields: json.dumps({"type": "object", "properties": {name: {"type": kind} for name, kind in fields.items()}})
    ),
)
schemathesis.openapi.format(
    "data-filter",
    st.dictionaries(
        st.text(max_size=8), st.text(max_size=8) | st.integers(-9, 9) | st.booleans() | st.none(), min_size=1, max_size=3
    ).map(json.dumps),
)
WHERE = st.recursive(
    st.dictionaries(
        st.from_regex(r"\A(data|metadata)\.[a-z]{1,8}\Z"),
        st.text(max_size=8) | st.integers(-9, 9) | st.fixed_dictionaries({"gte": st.integers(-9, 9), "exists": st.booleans()}),
        min_size=1,
        max_size=2,
    ),
    lambda one: st.fixed_dictionaries({"or": st.lists(one, min_size=1, max_size=2)}) | st.fixed_dictionaries({"not": one}),
    max_leaves=3,
)
schemathesis.openapi.format("where-filter", WHERE.map(json.dumps))
schemathesis.openapi.format("moment", st.sampled_from(["2026-01-31T09:30:00Z", "2026-01-31T10:30:00+01:00", "1769851800000"]))
schemathesis.openapi.format(
    "webhook-url", st.from_regex(r"\Ahttps://[a-z]{1,8}\.example\.com/[a-z]{0,8}\Z")
)


@schemathesis.hook
def before_call(context, case, **_):
    guard(case)
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    case.body = expressible(case.body)
    query = case.query or {}
    for header in ("x-grants", *(["idempotency-key"] if case.operation.method.upper() == "DELETE" else [])):
        if header in (case.headers or {}):
            del case.headers[header]
    for place in (query, case.body):
        if isinstance(place, dict) and place.get("scope") == "shared":
            place["scope"] = "own"
    if (case.headers or {}).get("if-match") == "0":
        # Made by schemathesis, though the document's pattern refuses it.
        case.headers["if-match"] = '"0"'
    if "cursor" in query:
        query["cursor"] = cursor_of(case.operation.path)
    if case.operation.path == "/v1/memories/search" and query.get("mode") != "map" and int(query.get("limit", 1)) > 100:
        query["limit"] = 100
    if query.get("mode") == "map" and query.get("recall") == "strict":
        del query["recall"]
    if "from" in query and "to" in query and str(query["from"]) > str(query["to"]):
        query["from"], query["to"] = query["to"], query["from"]
    if isinstance(case.body, dict) and "/memories" in case.operation.path:
        choose_kinds(case.body)
        choose_where(case.body)
    if isinstance(case.body, dict) and case.body.get("uniqueOn"):
        case.body["uniqueOn"] = ["kind"]
    if case.operation.path == "/v1/memories/lookup":
        case.body.update(LOOKUP)


WEBHOOKS = []


@schemathesis.hook
def after_call(context, case, response):
    """An account has ten webhooks at most: the oldest of more than five goes."""
    if case.operation.label == "POST /v1/webhooks" and response.status_code == 200:
        WEBHOOKS.append(response.json()["webhook"]["id"])
        if len(WEBHOOKS) > 5:
            caller = {"authorization": response.request.headers["Authorization"]}
            requests.delete(f"{response.request.url}/{WEBHOOKS.pop(0)}", headers=caller, timeout=60)


def guard(case):
    """The account, the key and the kinds that other routes are called with are not ended."""
    if case.operation.path.startswith("/admin/") and case.operation.method.upper() != "GET":
        account = case.body.get("account") if isinstance(case.body, dict) else None
        if isinstance(account, str) and account in ACCOUNTS:
            case.body["account"] = "research"
    if (case.path_parameters or {}).get("id") in KEYS:
        case.path_parameters["id"] = "key_unknown"
    if case.operation.method.upper() != "GET" and (case.path_parameters or {}).get("name") in NAMES:
        case.path_parameters["name"] = "unknown"


def expressible(value):
    """JSON Schema has no word for numbers whose digits not every reader keeps: integers beyond 2^53 and below 1e21."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value == value // 1 and SAFE_INTEGER <= abs(value) < DOUBLE_FROM:
        return int(value) % SAFE_INTEGER
    if isinstance(value, int):
        return value if abs(value) < SAFE_INTEGER else float(value)
    if isinstance(value, list):
        return [expressible(item) for item in value]
    if isinstance(value, dict):
        return {name: expressible(item) for name, item in value.items() if name != "__proto__"}
    return value


# The cursor of a stream of events is a row of bytes: the version alone, for an account without events.
EVENTS_CURSOR = "AQ"
POSITIONS = {
    "/admin/indexes": {"after": ""},
    "/v1/memories": {"createdAt": 1, "id": "mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"},
    "/admin/export": {"namespace": "000000000000", "afterSeq": 0},
    "/v1/credits/transactions": {"before": 1_000},
}


def cursor_of(path):
    if path == "/v1/events":
        return EVENTS_CURSOR
    position = POSITIONS.get(path, {"at": 1, "id": 1})
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


# A memory to be changed is of any kind: what the kinds of every account and the registered ones demand, together.
DATA_OF_ANY_KIND = LOOKUP["key"] | {
    "subject": "Alice",
    "fact": "Alice lives in Seattle",
    "preferenceType": "likes",
    "preference": "tea",
    "event": "a walk",
    "role": "user",
    "text": "fuzzed",
}


def choose_where(body):
    """The names in a condition are fields of data; the document has objects of any names."""
    for place in (body, body.get("filters"), *(one.get("filters") for one in list_of(body, "queries"))):
        if isinstance(place, dict) and isinstance(place.get("where"), dict):
            place["where"] = {"data.city": {"exists": True}}


def list_of(body, name):
    return [one for one in body.get(name) or [] if isinstance(one, dict)] if isinstance(body.get(name), list) else []


def choose_kinds(body):
    """Which kinds there are, and what their data has to be, differs from account to account."""
    memories = body.get("memories")
    for at, memory in enumerate(memories if isinstance(memories, list) else []):
        if isinstance(memory, dict):
            memory.update(KINDS[at % len(KINDS)])
    if isinstance(body.get("data"), dict):
        body["data"] = dict(DATA_OF_ANY_KIND)
    if isinstance(body.get("schemas"), list):
        body["schemas"] = sorted({kind["kind"] for kind in KINDS})


@schemathesis.check
def refusals_name_a_time(context, response, case):
    """A 503 is a refusal for now."""
    if response.status_code == 503:
        assert response.headers.get("retry-after"), "a 503 without Retry-After"
