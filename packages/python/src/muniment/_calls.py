"""The endpoints under /v1, one function each: its arguments, and the call that they make. Both clients have these
functions as methods, so each is written once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, Union
from urllib.parse import quote

from ._exchange import Call, asked, result
from ._wire import UNSET, Unset, body_of, decoded, encoded, given
from .answers import (
    Answer,
    Attested,
    BatchFound,
    Chat,
    Costs,
    Created,
    CreatedKey,
    Credits,
    Deleted,
    Deposited,
    Events,
    Extracted,
    Facets,
    FoundMemories,
    History,
    HookDeliveries,
    Hooks,
    HookTrial,
    HookWithSecret,
    Keys,
    MemoryPage,
    OneHook,
    OneMemory,
    OneSchema,
    PromptContext,
    PublishedKeys,
    ReceiptOfPayment,
    Removed,
    Repeated,
    Requests,
    Revoked,
    RevokedKey,
    Schemas,
    Statement,
    SubjectPage,
    SubjectProfile,
    Success,
    TopicMap,
    Transactions,
    TriedData,
    Updated,
    WhoAmI,
)
from .grants import Grant, GrantsInput
from .inputs import (
    Day,
    Filters,
    Include,
    Message,
    Moment,
    NewMemory,
    Recall,
    Rerank,
    Scope,
    SdkModel,
    SearchQuery,
)
from .payment import receipt_of

MemoryInput = Union[NewMemory, Mapping[str, Any]]
MessageInput = Union[Message, Mapping[str, Any], SdkModel, str]
Wait = Literal["vectors", "extraction"]
Versions = Literal["one", "all"]
SectionName = Literal["profile", "instructions", "preferences", "changes", "plans", "found"]


#: Of memories that no agent is named for; the command line has the same.
AGENT_DEFAULT = "assistant"


def _segment(text: str) -> str:
    return quote(text, safe="")


def create(
    *,
    agent_id: str,
    memories: Sequence[MemoryInput] | None = None,
    conversation: Sequence[MessageInput] | str | None = None,
    subject_id: str | None = None,
    thread_id: str | None = None,
    schemas: Sequence[str] | None = None,
    force: bool | None = None,
    instructions: str | None = None,
    conversation_date: Day | None = None,
    time_zone: str | None = None,
    remember: Literal["messages", "extracted"] | None = None,
    on_duplicate: Literal["return", "store"] | None = None,
    tags: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    wait: Wait | Sequence[Wait] | None = None,
    ttl: str | None = None,
    expires_at: float | datetime | None = None,
    idempotency_key: str | None = None,
) -> Call[Created]:
    """Stores `memories`, or the messages of a `conversation` and what is extracted from them."""
    body = given({name: value for name, value in locals().items() if name != "idempotency_key"})
    return _write("POST", "/memories", Created, body, idempotency_key)


def add(
    content: str | Sequence[MessageInput],
    *,
    agent_id: str = AGENT_DEFAULT,
    subject_id: str | None = None,
    thread_id: str | None = None,
    schemas: Sequence[str] | None = None,
    force: bool | None = None,
    instructions: str | None = None,
    conversation_date: Day | None = None,
    time_zone: str | None = None,
    remember: Literal["messages", "extracted"] | None = None,
    tags: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    wait: Wait | Sequence[Wait] | None = None,
    ttl: str | None = None,
    expires_at: float | datetime | None = None,
    idempotency_key: str | None = None,
) -> Call[Created]:
    """Remembers what a text says, or the messages of a conversation as model APIs have them, with the text itself."""
    body = given({name: value for name, value in locals().items() if name not in ("content", "idempotency_key")})
    return _write("POST", "/memories", Created, {**body, "conversation": encoded(content)}, idempotency_key)


def list_memories(
    *,
    agent_id: str | None = None,
    subject_id: str | None = None,
    thread_id: str | None = None,
    kind: str | None = None,
    tags: Sequence[str] | None = None,
    data: Mapping[str, str | float | bool | None] | None = None,
    where: Mapping[str, Any] | None = None,
    event_date_from: Day | None = None,
    event_date_to: Day | None = None,
    include_superseded: bool | None = None,
    as_of: Moment | float | None = None,
    include: Include | None = None,
    feedback: Literal["given", "useful", "not_useful"] | None = None,
    limit: int | None = None,
    order: Literal["desc", "asc"] | None = None,
    cursor: str | None = None,
    skip: int | None = None,
) -> Call[MemoryPage]:
    """Newest first unless `order` says otherwise; `limit` is the size of a page."""
    return Call("GET", "/memories", result(MemoryPage), query=given(locals()))


def facets(
    *,
    facet: Literal["agents", "kinds", "subjects", "threads", "tags"],
    agent_id: str | None = None,
    subject_id: str | None = None,
    thread_id: str | None = None,
    kind: str | None = None,
    tags: Sequence[str] | None = None,
    data: Mapping[str, str | float | bool | None] | None = None,
    where: Mapping[str, Any] | None = None,
    event_date_from: Day | None = None,
    event_date_to: Day | None = None,
    include_superseded: bool | None = None,
    as_of: Moment | float | None = None,
    include: Include | None = None,
    contains: str | None = None,
    order: Literal["memories", "newest", "name"] | None = None,
    limit: int | None = None,
) -> Call[Facets]:
    """Counts the memories by the values of `facet`."""
    return Call("GET", "/memories/facets", result(Facets), query=given(locals()))


def context(
    *,
    query: str | None = None,
    messages: Sequence[MessageInput] | str | None = None,
    agent_id: str | None = None,
    subject_id: str | None = None,
    thread_id: str | None = None,
    max_tokens: int | None = None,
    tokenizer: Literal["o200k_base", "other"] | None = None,
    sections: Sequence[SectionName] | None = None,
    format: Literal["text", "json"] | None = None,
    where: Mapping[str, Any] | None = None,
    scope: Scope | None = None,
    as_of: Moment | float | None = None,
    now: Moment | None = None,
    time_zone: str | None = None,
    grants: GrantsInput | None = None,
) -> Call[PromptContext]:
    """Text to paste into a prompt: who the subject is, standing instructions, what changed and what is planned, then
    what bears on `query`, or on the last of `messages`."""
    body = given({name: value for name, value in locals().items() if name != "grants"})
    return Call("POST", "/context", result(PromptContext), body=body, grants=grants)


def chat(
    messages: Sequence[MessageInput] | str,
    *,
    agent_id: str | None = None,
    subject_id: str | None = None,
    max_tokens: int | None = None,
    tokenizer: Literal["o200k_base", "other"] | None = None,
    now: Moment | None = None,
    time_zone: str | None = None,
) -> Call[Chat]:
    """One reply of the service's language model to `messages`, with the context that an agent would be handed. Stores
    nothing."""
    return Call("POST", "/chat", result(Chat), body=given(locals()))


def subjects(
    *,
    agent_id: str | None = None,
    contains: str | None = None,
    conflicts: bool | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[SubjectPage]:
    """Whom memories belong to, by id, with the names that they are called by; `limit` is the size of a page."""
    return Call("GET", "/subjects", result(SubjectPage), query=given(locals()))


def profile(
    subject_id: str,
    *,
    agent_id: str | None = None,
    as_of: Moment | float | None = None,
    time_zone: str | None = None,
) -> Call[SubjectProfile]:
    """What is known of a subject now, by topic, with what held before."""
    query = given({"agent_id": agent_id, "as_of": as_of, "time_zone": time_zone})
    return Call("GET", f"/subjects/{_segment(subject_id)}/profile", result(SubjectProfile), query=query)


def search(
    *,
    query: str,
    agent_id: str | None = None,
    subject_id: str | None = None,
    thread_id: str | None = None,
    kind: str | None = None,
    tags: Sequence[str] | None = None,
    data: Mapping[str, str | float | bool | None] | None = None,
    where: Mapping[str, Any] | None = None,
    event_date_from: Day | None = None,
    event_date_to: Day | None = None,
    include_superseded: bool | None = None,
    as_of: Moment | float | None = None,
    include: Include | None = None,
    limit: int | None = None,
    scope: Scope | None = None,
    min_relevance: float | None = None,
    now: Moment | None = None,
    time_zone: str | None = None,
    newer_first: bool | None = None,
    context: int | None = None,
    rerank: Rerank | None = None,
    recall: Recall | None = None,
    explain: bool | None = None,
    grants: GrantsInput | None = None,
) -> Call[FoundMemories]:
    """Memories by meaning and by words, most relevant first; the caller's, and those that `grants` open."""
    parameters = given({name: value for name, value in locals().items() if name != "grants"})
    return _search(FoundMemories, parameters, grants)


def answer(
    *,
    query: str,
    agent_id: str | None = None,
    subject_id: str | None = None,
    thread_id: str | None = None,
    kind: str | None = None,
    tags: Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    event_date_from: Day | None = None,
    event_date_to: Day | None = None,
    include_superseded: bool | None = None,
    as_of: Moment | float | None = None,
    include: Include | None = None,
    limit: int | None = None,
    scope: Scope | None = None,
    min_relevance: float | None = None,
    now: Moment | None = None,
    time_zone: str | None = None,
    newer_first: bool | None = None,
    context: int | None = None,
    rerank: Rerank | None = None,
    recall: Recall | None = None,
    explain: bool | None = None,
    grants: GrantsInput | None = None,
) -> Call[Answer]:
    """A search in mode `answer`: a short answer made of memories, with citations."""
    parameters = given({name: value for name, value in locals().items() if name != "grants"})
    return _search(Answer, {**parameters, "mode": "answer"}, grants)


def topics(
    *,
    query: str,
    agent_id: str | None = None,
    subject_id: str | None = None,
    thread_id: str | None = None,
    kind: str | None = None,
    tags: Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    event_date_from: Day | None = None,
    event_date_to: Day | None = None,
    include_superseded: bool | None = None,
    as_of: Moment | float | None = None,
    include: Include | None = None,
    limit: int | None = None,
    scope: Scope | None = None,
    min_relevance: float | None = None,
    now: Moment | None = None,
    time_zone: str | None = None,
    grants: GrantsInput | None = None,
) -> Call[TopicMap]:
    """A search in mode `map`: the topics of what was found, as Markdown and as clusters with positions."""
    parameters = given({name: value for name, value in locals().items() if name != "grants"})
    return _search(TopicMap, {**parameters, "mode": "map"}, grants)


def extract(
    *,
    conversation: Sequence[MessageInput] | str,
    schemas: Sequence[str] | None = None,
    instructions: str | None = None,
    conversation_date: Day | None = None,
    time_zone: str | None = None,
) -> Call[Extracted]:
    """What would be extracted from a conversation, and what not and why; stores nothing."""
    return Call("POST", "/memories/extract", result(Extracted), body=given(locals()))


def lookup(*, agent_id: str, kind: str, key: Mapping[str, Any], subject_id: str | None = None) -> Call[OneMemory]:
    """The latest memory with these unique fields."""
    return Call("POST", "/memories/lookup", result(OneMemory), body=given(locals()))


def get(id: str) -> Call[OneMemory]:
    """One memory, with the `version` that `if_match` takes."""
    return Call("GET", f"/memories/{_segment(id)}", result(OneMemory))


def history(id: str, *, limit: int | None = None) -> Call[History]:
    """Every version of a memory that is there, newest first, and how each came about."""
    return Call("GET", f"/memories/{_segment(id)}/history", result(History), query=given({"limit": limit}))


def restore(id: str, *, if_match: str | None = None, idempotency_key: str | None = None) -> Call[OneMemory]:
    """Makes an older version the latest one, as a new version."""
    call = _write("POST", f"/memories/{_segment(id)}/restore", OneMemory, None, idempotency_key)
    return replace(call, if_match=if_match)


def feedback(id: str, *, useful: bool, query: str | None = None, idempotency_key: str | None = None) -> Call[OneMemory]:
    """Says whether a memory was of use, and for which query; it is kept with the memory, and moves nothing in searches."""
    body = given({"useful": useful, "query": query})
    return _write("POST", f"/memories/{_segment(id)}/feedback", OneMemory, body, idempotency_key)


def update(
    id: str,
    *,
    data: Mapping[str, Any] | Unset = UNSET,
    tags: Sequence[str] | Unset = UNSET,
    metadata: Mapping[str, Any] | Unset | None = UNSET,
    expires_at: float | datetime | Unset | None = UNSET,
    if_match: str | None = None,
    idempotency_key: str | None = None,
) -> Call[OneMemory]:
    """Changes data (a new version of a kind with `unique_on`), tags or expiry (None: never). `if_match`: the `version`
    that is changed; another one is left as it is."""
    body = body_of({"data": data, "tags": tags, "metadata": metadata, "expires_at": expires_at})
    call = _write("PATCH", f"/memories/{_segment(id)}", OneMemory, body, idempotency_key)
    return replace(call, if_match=if_match)


def delete(
    id: str,
    *,
    versions: Versions | None = None,
    if_match: str | None = None,
    idempotency_key: str | None = None,
) -> Call[Removed]:
    """One version, or with `versions="all"` the memory with all of them. An older version that is the latest again then
    is `revived`."""
    call = _write("DELETE", f"/memories/{_segment(id)}", Removed, None, idempotency_key)
    return replace(call, query=given({"versions": versions}), if_match=if_match)


def forget(
    id: str | None = None,
    *,
    agent_id: str | None = None,
    subject_id: str | None = None,
    thread_id: str | None = None,
    kind: str | None = None,
    tags: Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    if_match: str | None = None,
    idempotency_key: str | None = None,
) -> Call[Removed]:
    """Deletes a memory with all its versions, or all that the filters select, such as all memories of a subject, so
    that none of them is known any more."""
    named = {"agent_id": agent_id, "subject_id": subject_id, "thread_id": thread_id}
    filters = given({**named, "kind": kind, "tags": tags, "where": where})
    if id == "" or (id is None) == (not filters):
        raise ValueError("give the id of a memory, or filters such as subject_id")
    if id is not None:
        return delete(id, versions="all", if_match=if_match, idempotency_key=idempotency_key)
    body = {"filters": filters, "versions": "all"}
    return _write("POST", "/memories/batch/delete", Removed, body, idempotency_key)


def batch_search(
    *,
    queries: Sequence[SearchQuery | Mapping[str, Any]],
    scope: Scope | None = None,
    recall: Recall | None = None,
    as_of: Moment | float | None = None,
    now: Moment | None = None,
    time_zone: str | None = None,
    grants: GrantsInput | None = None,
) -> Call[BatchFound]:
    """Up to 10 queries in one call."""
    body = given({name: value for name, value in locals().items() if name != "grants"})
    return Call("POST", "/memories/batch/search", result(BatchFound), body=body, grants=grants)


def batch_delete(
    *,
    ids: Sequence[str] | None = None,
    filters: Filters | Mapping[str, Any] | None = None,
    dry_run: bool | None = None,
    versions: Versions | None = None,
    idempotency_key: str | None = None,
) -> Call[Deleted]:
    """By ids or by filters, never both; `dry_run` only counts; `versions="all"` as of `delete`."""
    body = given({"ids": ids, "filters": filters, "dry_run": dry_run, "versions": versions})
    return _write("POST", "/memories/batch/delete", Deleted, body, idempotency_key)


def batch_update(
    *,
    ids: Sequence[str],
    tags: Sequence[str] | Unset = UNSET,
    metadata: Mapping[str, Any] | Unset | None = UNSET,
    expires_at: float | datetime | Unset | None = UNSET,
    idempotency_key: str | None = None,
) -> Call[Updated]:
    """Changes tags, metadata or expiry of up to 100 memories."""
    body = {"ids": encoded(ids), "update": body_of({"tags": tags, "metadata": metadata, "expires_at": expires_at})}
    return _write("POST", "/memories/batch/update", Updated, body, idempotency_key)


def batch_create(
    *,
    agent_id: str,
    memories: Sequence[MemoryInput],
    subject_id: str | None = None,
    thread_id: str | None = None,
    tags: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    on_duplicate: Literal["return", "store"] | None = None,
    wait: Literal["vectors"] | None = None,
    ttl: str | None = None,
    expires_at: float | datetime | None = None,
    idempotency_key: str | None = None,
) -> Call[Created]:
    """Stores up to 100 memories in one call."""
    body = given({name: value for name, value in locals().items() if name != "idempotency_key"})
    return _write("POST", "/memories/batch/create", Created, body, idempotency_key)


def events(
    *,
    agent_id: str | None = None,
    cursor: str | None = None,
    from_: Literal["now", "oldest"] | None = None,
    limit: int | None = None,
) -> Call[Events]:
    """One page of what happened to memories; go on with its `next_cursor`. `follow_events` waits for more."""
    return Call("GET", "/events", result(Events), query=given(locals()))


def register(
    *,
    name: str,
    description: str,
    schema: str,
    unique_on: Sequence[str] | None = None,
    idempotency_key: str | None = None,
) -> Call[OneSchema]:
    """Registers a kind of memory; `schema` is the text of a JSON Schema."""
    body = given({"name": name, "description": description, "schema": schema, "unique_on": unique_on})
    return _write("POST", "/schemas", OneSchema, body, idempotency_key)


def try_schema(
    *,
    data: Mapping[str, Any],
    kind: str | None = None,
    schema: str | None = None,
    unique_on: Sequence[str] | None = None,
) -> Call[TriedData]:
    """Whether a memory with this data would be accepted, by a registered `kind` or the text of a `schema`."""
    return Call("POST", "/schemas/try", result(TriedData), body=given(locals()))


def list_schemas() -> Call[Schemas]:
    """The kinds of memories of the account, the built-in ones too."""
    return Call("GET", "/schemas", result(Schemas))


def get_schema(name: str) -> Call[OneSchema]:
    """One kind of memory."""
    return Call("GET", f"/schemas/{_segment(name)}", result(OneSchema))


def update_schema(
    name: str,
    *,
    description: str | Unset = UNSET,
    schema: str | Unset = UNSET,
    unique_on: Sequence[str] | Unset | None = UNSET,
    idempotency_key: str | None = None,
) -> Call[OneSchema]:
    """Changes a kind; what is stored has to fit the new schema."""
    body = body_of({"description": description, "schema": schema, "unique_on": unique_on})
    return _write("PATCH", f"/schemas/{_segment(name)}", OneSchema, body, idempotency_key)


def delete_schema(name: str, *, idempotency_key: str | None = None) -> Call[Deleted]:
    """Removes a kind that no memory is of."""
    return _write("DELETE", f"/schemas/{_segment(name)}", Deleted, None, idempotency_key)


def attest(body: Mapping[str, Any], *, idempotency_key: str | None = None) -> Call[Attested]:
    """A signed statement about the caller's memories, such as `{"claim": "memory_count_gte", "threshold": 10}`."""
    return _write("POST", "/attestations", Attested, body, idempotency_key)


def revoke_grant(grant: Grant, *, idempotency_key: str | None = None) -> Call[Revoked]:
    """By the grantor: the service refuses the grant from then on."""
    return _write("POST", "/grants/revoke", Revoked, {"grant": grant}, idempotency_key)


def deposit(amount_usd: float, *, idempotency_key: str | None = None) -> Call[Deposited]:
    """Credits the caller's account, 1,000 for a dollar. The service answers 402 first, then `on_payment_required`
    signs; while the outcome is unknown the same payment is sent again."""

    def read(body: Mapping[str, Any], headers: Mapping[str, str]) -> Deposited:
        answered = decoded(Deposited, body)
        return Deposited(
            answered.deposit, answered.balance, answered.message, answered.replayed, receipt_of(headers)
        )

    return Call(
        "POST",
        "/credits/deposit",
        read,
        query={"amount_usd": amount_usd},
        is_write=True,
        idempotency_key=idempotency_key,
    )


def credits() -> Call[Credits]:
    """Balance, allowance, plan, and how long the balance keeps a free plan's memories."""
    return Call("GET", "/credits", result(Credits))


def receipt(id: str) -> Call[ReceiptOfPayment]:
    """Signed receipt of a payment of the account, by its id or its transaction."""
    return Call("GET", f"/credits/payments/{_segment(id)}/receipt", result(ReceiptOfPayment))


def transactions(*, limit: int | None = None, cursor: str | None = None) -> Call[Transactions]:
    """One page of the account's movements, newest first."""
    return Call("GET", "/credits/transactions", result(Transactions), query=given(locals()))


def statement(
    *, from_: Day | None = None, to: Day | None = None, limit: int | None = None, cursor: str | None = None
) -> Call[Statement]:
    """One page of the movements of a period, oldest first, with what stood in the purses before and after."""
    return Call("GET", "/account/statement", result(Statement), query=given(locals()))


def costs(*, from_: Day | None = None, to: Day | None = None, limit: int | None = None) -> Call[Costs]:
    """What each agent cost in a period, the dearest first."""
    return Call("GET", "/account/costs", result(Costs), query=given(locals()))


def requests(
    *,
    before: int | None = None,
    after: int | None = None,
    caller: str | None = None,
    operation: str | None = None,
    agent_id: str | None = None,
    status: str | None = None,
    slower_than: int | None = None,
    refused: bool | None = None,
    operator: bool | None = None,
    order: Literal["newest", "slowest"] | None = None,
    from_: Day | None = None,
    to: Day | None = None,
    limit: int | None = None,
) -> Call[Requests]:
    """What the account called, newest first; `before` the last id leads on, `after` the first asks for newer ones."""
    return Call("GET", "/account/requests", result(Requests), query=given(locals()))


def whoami() -> Call[WhoAmI]:
    """Who the credentials belong to, with the number of live memories of each agent."""
    return Call("GET", "/account", result(WhoAmI))


def list_keys() -> Call[Keys]:
    """Keys of the account that are not revoked, without secrets."""
    return Call("GET", "/keys", result(Keys))


def create_key(
    *,
    label: str | None = None,
    read_only: bool | None = None,
    agents: Sequence[str] | None = None,
    subjects: Sequence[str] | None = None,
    expires_in: str | None = None,
    idempotency_key: str | None = None,
) -> Call[CreatedKey]:
    """A key with no more rights than this one; its secret is shown once."""
    body = given({name: value for name, value in locals().items() if name != "idempotency_key"})
    return _write("POST", "/keys", CreatedKey, body, idempotency_key)


def revoke_key(id: str, *, keep_made: bool | None = None, idempotency_key: str | None = None) -> Call[RevokedKey]:
    """With the keys that it made and those that they made, unless `keep_made`."""
    return Call(
        "DELETE",
        f"/keys/{_segment(id)}",
        result(RevokedKey),
        query=given({"keep_made": keep_made}),
        is_write=True,
        idempotency_key=idempotency_key,
    )


def list_hooks() -> Call[Hooks]:
    """Where the account's events are sent, without secrets."""
    return Call("GET", "/webhooks", result(Hooks))


def create_hook(
    url: str,
    *,
    types: Sequence[str] | None = None,
    agents: Sequence[str] | None = None,
    idempotency_key: str | None = None,
) -> Call[HookWithSecret]:
    """A webhook; the secret of its signatures is shown once."""
    body = given({"url": url, "types": types, "agents": agents})
    return _write("POST", "/webhooks", HookWithSecret, body, idempotency_key)


def get_hook(id: str) -> Call[OneHook]:
    """One webhook."""
    return Call("GET", f"/webhooks/{_segment(id)}", result(OneHook))


def change_hook(
    id: str,
    *,
    url: str | None = None,
    types: Sequence[str] | None = None,
    state: str | None = None,
    idempotency_key: str | None = None,
) -> Call[OneHook]:
    """`state`: active or paused; one that goes on does so where it was."""
    body = given({"url": url, "types": types, "state": state})
    return _write("PATCH", f"/webhooks/{_segment(id)}", OneHook, body, idempotency_key)


def remove_hook(id: str, *, idempotency_key: str | None = None) -> Call[Success]:
    """Removes a webhook, with what waits for it."""
    return _write("DELETE", f"/webhooks/{_segment(id)}", Success, None, idempotency_key)


def rotate_hook_secret(id: str, *, idempotency_key: str | None = None) -> Call[HookWithSecret]:
    """For a day messages are signed with the secret before, too."""
    return _write("POST", f"/webhooks/{_segment(id)}/secret", HookWithSecret, None, idempotency_key)


def test_hook(id: str, *, idempotency_key: str | None = None) -> Call[HookTrial]:
    """Sends a message of type `test` once."""
    return _write("POST", f"/webhooks/{_segment(id)}/test", HookTrial, None, idempotency_key)


def hook_deliveries(id: str, *, state: str | None = None, limit: int | None = None) -> Call[HookDeliveries]:
    """Messages of a webhook, newest first, without bodies."""
    query = given({"state": state, "limit": limit})
    return Call("GET", f"/webhooks/{_segment(id)}/deliveries", result(HookDeliveries), query=query)


def repeat_deliveries(id: str, *, delivery: str | None = None, idempotency_key: str | None = None) -> Call[Repeated]:
    """One message that was given up, or all."""
    path = f"/webhooks/{_segment(id)}/deliveries/repeat"
    return _write("POST", path, Repeated, given({"delivery": delivery}), idempotency_key)


def public_keys(service_name: str) -> Call[PublishedKeys]:
    """Keys that attestations of the service verify with."""
    path = f"/.well-known/{_segment(service_name)}-keys.json"
    return Call("GET", path, result(PublishedKeys), is_public=True)


def _search(kind: type[Any], parameters: Mapping[str, Any], grants: GrantsInput | None) -> Call[Any]:
    return asked("/memories/search", result(kind), parameters, grants)


def _write(
    method: str, path: str, kind: type[Any], body: Mapping[str, Any] | None, idempotency_key: str | None
) -> Call[Any]:
    return Call(method, path, result(kind), body=body, is_write=True, idempotency_key=idempotency_key)
