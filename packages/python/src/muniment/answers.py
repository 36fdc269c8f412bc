"""Answers of the service as frozen dataclasses, named like the fields of the contract in snake case. Times are
milliseconds since the epoch unless a field is ISO 8601. Fields that a newer service adds are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .payment import PaymentReceipt

JsonObject = Mapping[str, Any]
Plan = Literal["free", "starter", "pro", "owner"]


@dataclass(frozen=True)
class Mention:
    name: str
    type: str


@dataclass(frozen=True)
class TurnAround:
    """A turn next to a message that was found."""

    id: str
    #: -1 just before the message, 1 just after it.
    offset: int
    role: str
    #: Of a long turn its beginning.
    text: str
    name: str | None = None
    #: ISO 8601.
    when: str | None = None
    #: Of a shared turn, as in the attestation of its source.
    content_hash: str | None = None


@dataclass(frozen=True)
class Context:
    mentions: tuple[Mention, ...]
    tags: tuple[str, ...]
    is_latest: bool
    #: ISO 8601 event time.
    when: str | None = None
    #: As it was given.
    metadata: JsonObject | None = None
    #: Of a message, in a search with `context`: the turns next to it, oldest first.
    around: tuple[TurnAround, ...] | None = None
    #: Of a message, in a search: the memory that was taken from it and corrected since, or restored in its place.
    corrected_by: str | None = None


@dataclass(frozen=True)
class MemoryEntry:
    """A memory of `created`, `updated` or `existing`."""

    id: str
    kind: str
    data: JsonObject
    #: The data laid flat, plus system fields; those win on a name clash.
    metadata: JsonObject


@dataclass(frozen=True)
class Feedback:
    useful: bool
    #: When it was given.
    at: int
    #: What the memory was found for.
    query: str | None = None
    #: Key or wallet that gave it.
    by: str | None = None


@dataclass(frozen=True)
class Memory:
    id: str
    kind: str
    data: JsonObject
    metadata: JsonObject
    context: Context
    source: Literal["own"]
    #: For `if_match`.
    version: str = ""
    #: Oldest first.
    feedback: tuple[Feedback, ...] = ()


@dataclass(frozen=True)
class OneMemory:
    memory: Memory


@dataclass(frozen=True)
class HistoryEntry:
    memory: Memory
    how: Literal["stored", "extracted", "corrected", "restored"]
    #: Milliseconds since the epoch.
    at: int
    #: Key or wallet that corrected or restored it, as far as it is known.
    by: str | None = None
    restored_from: str | None = None


@dataclass(frozen=True)
class History:
    #: Newest first.
    versions: tuple[HistoryEntry, ...]
    total: int


@dataclass(frozen=True)
class MemoryPage:
    memories: tuple[Memory, ...]
    total: int
    next_cursor: str | None = None


@dataclass(frozen=True)
class FacetValue:
    value: str
    memories: int
    #: When the newest of these memories was stored.
    newest_at: int


@dataclass(frozen=True)
class Facets:
    values: tuple[FacetValue, ...]
    #: How many values there are; at least that many if not `is_exact`.
    total: int
    is_exact: bool


@dataclass(frozen=True)
class ContextItem:
    """One line of a section of a context."""

    id: str
    kind: str
    text: str
    topic: str | None = None
    #: The day since when it is known.
    since: str | None = None
    #: Of a plan: its day.
    on: str | None = None
    #: Of a change: what held before.
    before: str | None = None
    #: Of a message: who said it, in which conversation, on which day, what its "tomorrow" means.
    speaker: str | None = None
    thread_id: str | None = None
    said_on: str | None = None
    dates: tuple[str, ...] = ()
    #: A turn next to a message that was found.
    is_around: bool = False
    #: Whose memory it is, of a shared one.
    grantor: str | None = None


@dataclass(frozen=True)
class ContextSection:
    name: str
    tokens: int
    items: tuple[ContextItem, ...]


@dataclass(frozen=True)
class LeftOut:
    """What there was no room for."""

    facts: int
    messages: int


@dataclass(frozen=True)
class UnusableGrant:
    #: Its place among the grants of the call, from 0.
    index: int
    reason: str
    message: str
    #: As the grant spells it.
    grantor: str | None = None


@dataclass(frozen=True)
class PromptContext:
    """What an agent is handed for its prompt: `text` to be pasted, or with `format="json"` its `sections`."""

    #: Of the text, at most `max_tokens`.
    tokens: int
    tokenizer: str
    left_out: LeftOut
    text: str = ""
    #: The memory that `[1]` in the text names, that of `[2]`, and so on.
    sources: tuple[str, ...] = ()
    sections: tuple[ContextSection, ...] = ()
    #: By grantor: the service vouches for where shared memories come from.
    source_attestations: Mapping[str, SignedAttestation] | None = None
    #: Grants of the call that opened nothing, and why.
    unusable_grants: tuple[UnusableGrant, ...] = ()


@dataclass(frozen=True)
class Chat:
    """A reply of the language model, and what it was handed."""

    reply: str
    #: Name of the language model, as configured.
    model: str
    #: Credits for its tokens, where they have a price.
    model_credits: float
    context: PromptContext


@dataclass(frozen=True)
class Subject:
    subject_id: str
    #: What they are called, as it was told first, then aliases.
    names: tuple[str, ...]
    memories: int
    newest_at: int
    #: Where they are asked for: how many conflicts the profile has.
    conflicts: int | None = None


@dataclass(frozen=True)
class SubjectPage:
    subjects: tuple[Subject, ...]
    next_cursor: str | None = None


@dataclass(frozen=True)
class FactVersion:
    id: str
    text: str
    since: str


@dataclass(frozen=True)
class ProfileFact:
    id: str
    agent_id: str
    kind: str
    text: str
    #: The day since when it is known.
    since: str
    source_message_ids: tuple[str, ...]
    #: What held before, newest first.
    versions: tuple[FactVersion, ...]
    #: Whom or what it is about, if not the subject.
    about: str | None = None
    #: Of an event: its day.
    on: str | None = None


@dataclass(frozen=True)
class ProfileTopic:
    topic: str
    facts: tuple[ProfileFact, ...]


@dataclass(frozen=True)
class Relation:
    relation: str
    #: To whom, if not to the subject.
    of: str | None = None


@dataclass(frozen=True)
class Person:
    name: str
    aliases: tuple[str, ...]
    relations: tuple[Relation, ...]


@dataclass(frozen=True)
class ProfileConflict:
    """Facts that cannot all hold."""

    #: What cannot have all of these values.
    attribute: str
    #: Ids of facts in the topics, newest first.
    facts: tuple[str, ...]
    about: str | None = None


@dataclass(frozen=True)
class SubjectProfile:
    """What is known of a subject now, by topic."""

    subject_id: str
    names: tuple[str, ...]
    people: tuple[Person, ...]
    topics: tuple[ProfileTopic, ...]
    total: int
    is_complete: bool
    conflicts: tuple[ProfileConflict, ...] = ()


@dataclass(frozen=True)
class RejectedCandidate:
    """What extraction found and did not store."""

    reason: str
    message: str
    source_message_ids: tuple[str, ...]
    kind: str | None = None
    data: JsonObject | None = None
    duplicate_of: str | None = None


@dataclass(frozen=True)
class FoundCandidate:
    """What extraction found and would store."""

    kind: str
    data: JsonObject
    confidence: float
    mentions: tuple[Mention, ...]
    source_message_ids: tuple[str, ...]
    when: str | None = None


@dataclass(frozen=True)
class Extracted:
    found: tuple[FoundCandidate, ...]
    rejected: tuple[RejectedCandidate, ...]


@dataclass(frozen=True)
class MessageCounts:
    stored: int
    known: int


@dataclass(frozen=True)
class LeftOutMessage:
    """A message with nothing to store; `index` is its place in the request."""

    index: int
    reason: str
    message: str
    id: str | None = None


@dataclass(frozen=True)
class ExtractionProblem:
    code: str
    #: Why, and whether the service tries again.
    message: str


@dataclass(frozen=True)
class Created:
    created: tuple[MemoryEntry, ...]
    updated: tuple[MemoryEntry, ...]
    #: With `on_duplicate="return"`: stored memories that already said what the request says.
    existing: tuple[MemoryEntry, ...] = ()
    rejected: tuple[RejectedCandidate, ...] = ()
    skipped_messages: int | None = None
    messages: MessageCounts | None = None
    left_out: tuple[LeftOutMessage, ...] = ()
    #: Images, files and other parts without text: named, not kept.
    skipped_parts: int | None = None
    #: `pending`: the messages are stored, and are read later; `partial`: rules have read them, and the language model
    #: could not, for the reason in `extraction_problem`.
    extraction: Literal["done", "pending", "partial"] | None = None
    extraction_problem: ExtractionProblem | None = None


@dataclass(frozen=True)
class Quality:
    #: 0 to 1.
    relevance: float
    #: 0 to 1; 1 for direct memories.
    confidence: float


@dataclass(frozen=True)
class Passage:
    start: int
    end: int


@dataclass(frozen=True)
class FoundMemory:
    id: str
    kind: str
    quality: Quality
    data: JsonObject
    context: Context
    source: Literal["own", "shared"]
    #: The data laid flat, plus system fields; of shared memories fewer.
    metadata: JsonObject = field(default_factory=dict)
    #: Shared memories: who granted them.
    grantor: str | None = None
    #: Part of a long text that answers best.
    passage: Passage | None = None
    #: With `explain=True`: its scores, and what they are the sum of.
    explain: JsonObject | None = None


@dataclass(frozen=True)
class SignedAttestation:
    attestation: JsonObject
    signature: str


@dataclass(frozen=True)
class RerankProblem:
    code: str
    message: str


@dataclass(frozen=True)
class FoundMemories:
    memories: tuple[FoundMemory, ...]
    #: ISO 8601.
    searched_at: str
    #: By grantor: the service vouches for where shared memories come from.
    source_attestations: Mapping[str, SignedAttestation] | None = None
    #: Grants of the call that opened nothing, and why.
    unusable_grants: tuple[UnusableGrant, ...] = ()
    explain: JsonObject | None = None
    #: With `rerank="model"`: whether the language model put the hits in order; if not, they have their usual one.
    reranked: bool | None = None
    rerank_problem: RerankProblem | None = None


@dataclass(frozen=True)
class Answer:
    """A short answer made of memories."""

    answer: str
    memories: tuple[FoundMemory, ...]
    #: Ids of memories of this answer, in order of use.
    citations: tuple[str, ...]
    #: True: the answer has the part that was asked.
    grounded: bool
    method: Literal["model", "extractive"]
    searched_at: str
    #: Not grounded: what was found, best first. It may or may not answer.
    hits: tuple[FoundMemory, ...] = ()
    source_attestations: Mapping[str, SignedAttestation] | None = None
    #: Grants of the call that opened nothing, and why.
    unusable_grants: tuple[UnusableGrant, ...] = ()
    explain: JsonObject | None = None
    #: With `rerank="model"`: whether the language model put the hits in order; if not, they have their usual one.
    reranked: bool | None = None
    rerank_problem: RerankProblem | None = None


@dataclass(frozen=True)
class Position:
    x: float
    y: float


@dataclass(frozen=True)
class TopicCluster:
    topic: str
    terms: tuple[str, ...]
    count: int
    kinds: tuple[str, ...]
    memory_ids: tuple[str, ...]
    position: Position


@dataclass(frozen=True)
class MapPoint:
    id: str
    x: float
    y: float
    #: Index into `clusters`; None: near no other memory.
    cluster: int | None
    kind: str
    #: Milliseconds since the epoch: when it was stored.
    created_at: int
    #: Of the caller's own memories.
    subject_id: str | None = None


@dataclass(frozen=True)
class TopicMap:
    #: Markdown: a heading per topic, a bullet per memory.
    memory_map: str
    clusters: tuple[TopicCluster, ...]
    points: tuple[MapPoint, ...]
    searched_at: str
    source_attestations: Mapping[str, SignedAttestation] | None = None
    #: Grants of the call that opened nothing, and why.
    unusable_grants: tuple[UnusableGrant, ...] = ()
    explain: JsonObject | None = None


@dataclass(frozen=True)
class BatchResult:
    memories: tuple[FoundMemory, ...]


@dataclass(frozen=True)
class BatchFound:
    results: tuple[BatchResult, ...]
    searched_at: str
    source_attestations: Mapping[str, SignedAttestation] | None = None
    #: Grants of the call that opened nothing, and why.
    unusable_grants: tuple[UnusableGrant, ...] = ()


@dataclass(frozen=True)
class Deleted:
    deleted: int
    #: True: they were counted, and are still there.
    dry_run: bool | None = None
    #: Ids of older versions that are the latest again.
    revived: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Removed:
    success: Literal[True]
    #: With all versions: how many there were.
    deleted: int | None = None
    #: Id of the older version that is the latest again.
    revived: str | None = None


@dataclass(frozen=True)
class Updated:
    updated: int


@dataclass(frozen=True)
class Success:
    success: Literal[True]


@dataclass(frozen=True)
class MemorySchema:
    """A registered kind of memory; `schema` is the text of a JSON Schema."""

    name: str
    description: str
    schema: str
    unique_on: tuple[str, ...] | None = None
    created_at: int | None = None
    updated_at: int | None = None
    builtin: bool | None = None


@dataclass(frozen=True)
class OneSchema:
    schema: MemorySchema


@dataclass(frozen=True)
class Schemas:
    schemas: tuple[MemorySchema, ...]


@dataclass(frozen=True)
class Problem:
    path: str
    message: str


@dataclass(frozen=True)
class TriedData:
    valid: bool
    problems: tuple[Problem, ...]
    #: As it would be stored.
    data: JsonObject | None = None


@dataclass(frozen=True)
class Attested:
    """A signed statement about the caller's memories; `verify_attestation` checks it anywhere."""

    attestation: JsonObject
    signature: str
    public_key: str
    algorithm: str


@dataclass(frozen=True)
class PreviousKey:
    public_key: str
    issued_at: int
    #: The key signed nothing from then on.
    retired_at: int
    #: Nothing by the key counts: its secret may be known to others.
    revoked_at: int | None = None


@dataclass(frozen=True)
class PublishedKeys:
    """Keys that attestations of the service verify with."""

    attestation_public_key: str
    algorithm: str
    issued_at: int
    previous_keys: tuple[PreviousKey, ...] = ()


@dataclass(frozen=True)
class Revoked:
    revoked: Literal[True]


@dataclass(frozen=True)
class Balance:
    credits: float
    usd: float


@dataclass(frozen=True)
class Allowance:
    credits: float | None
    monthly: float | None
    renews_at: int


@dataclass(frozen=True)
class PurgeNotice:
    memories: int
    created_before: int
    #: `from` on the wire.
    from_: int


@dataclass(frozen=True)
class Credits:
    balance: Balance
    allowance: Allowance
    plan: Plan
    insured_until: int | None = None
    purge_notice: PurgeNotice | None = None


@dataclass(frozen=True)
class DepositAmount:
    amount_usd: float
    credits: float


@dataclass(frozen=True)
class Deposited:
    deposit: DepositAmount
    balance: Balance
    message: str
    replayed: bool | None = None
    #: What the payment's header says.
    receipt: PaymentReceipt | None = None


@dataclass(frozen=True)
class SignedReceipt:
    format: Literal["jws"]
    signature: str


@dataclass(frozen=True)
class ReceiptOfPayment:
    payment: str
    settled_at: int
    receipt: SignedReceipt


@dataclass(frozen=True)
class Movement:
    id: int
    at: int
    kind: str
    purse: str
    calls: int
    credits: float
    operation: str | None = None
    agent_id: str | None = None


@dataclass(frozen=True)
class Transactions:
    transactions: tuple[Movement, ...]
    next_cursor: str | None = None


@dataclass(frozen=True)
class Purses:
    balance: float
    allowance: float
    receivable: float


@dataclass(frozen=True)
class Statement:
    account: str
    #: `from` on the wire.
    from_: str
    to: str
    opening: Purses
    closing: Purses
    entries: tuple[Movement, ...]
    next_cursor: str | None = None


@dataclass(frozen=True)
class OperationCost:
    operation: str
    calls: int
    credits: float


@dataclass(frozen=True)
class AgentCost:
    account: str
    #: None: for no single agent.
    agent_id: str | None
    calls: int
    credits: float
    usd: float
    operations: tuple[OperationCost, ...]


@dataclass(frozen=True)
class DayCost:
    day: str
    calls: int
    credits: float


@dataclass(frozen=True)
class Costs:
    #: `from` on the wire.
    from_: str
    to: str
    #: Agents there are; the answer has `limit` of them.
    total: int
    agents: tuple[AgentCost, ...]
    #: The first day first; without days that had no charge.
    days: tuple[DayCost, ...] = ()


@dataclass(frozen=True)
class Deletion:
    """What a call deleted: the filters that were given, and how many memories matched."""

    memories: int
    agent_id: str | None = None
    subject_id: str | None = None
    thread_id: str | None = None
    kind: str | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class Request:
    id: int
    at: int
    method: str
    operation: str
    status: int
    millis: float
    account: str | None
    #: Id of the key, address of the wallet, or `operator`.
    caller: str | None
    #: Of a call that deleted memories, or counted them.
    deleted: Deletion | None = None
    #: Milliseconds by stage, of those that took any.
    stages: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Requests:
    requests: tuple[Request, ...]


@dataclass(frozen=True)
class Account:
    id: str
    name: str
    plan: Plan
    created_at: int


@dataclass(frozen=True)
class AgentCount:
    agent_id: str
    memories: int | None


@dataclass(frozen=True)
class Quota:
    name: str
    used: int
    limit: int | None


@dataclass(frozen=True)
class WhoAmI:
    account: Account
    agents: tuple[AgentCount, ...]
    quotas: tuple[Quota, ...] = ()


@dataclass(frozen=True)
class ApiKey:
    id: str
    account: str
    label: str
    prefix: str
    created_at: int
    read_only: bool | None = None
    agents: tuple[str, ...] | None = None
    subjects: tuple[str, ...] | None = None
    made_by: str | None = None
    expires_at: int | None = None
    last_used_at: int | None = None
    revoked_at: int | None = None


@dataclass(frozen=True)
class Keys:
    keys: tuple[ApiKey, ...]


@dataclass(frozen=True)
class CreatedKey:
    key: ApiKey
    #: Shown once.
    secret: str


@dataclass(frozen=True)
class RevokedKey:
    key: ApiKey
    also_revoked: tuple[str, ...]


@dataclass(frozen=True)
class Hook:
    """A webhook of the account; `agents`: none means all."""

    id: str
    url: str
    types: tuple[str, ...]
    agents: tuple[str, ...] | None
    state: str
    created_at: int
    made_by: str | None
    secret_changes_at: int | None
    delivered_at: int | None
    reason: str | None
    pending: int
    failed: int


@dataclass(frozen=True)
class Hooks:
    webhooks: tuple[Hook, ...]


@dataclass(frozen=True)
class OneHook:
    webhook: Hook


@dataclass(frozen=True)
class HookWithSecret:
    webhook: Hook
    #: Shown once.
    secret: str


@dataclass(frozen=True)
class EventData:
    agent_id: str | None = None
    memory_id: str | None = None
    kind: str | None = None
    #: Of a memory that is there; absent once it is deleted.
    subject_id: str | None = None
    thread_id: str | None = None
    #: The newer version.
    superseded_by: str | None = None
    #: What follows is of `payment.*` and `refund.*`.
    payment: str | None = None
    refund: str | None = None
    network: str | None = None
    amount_usd: float | None = None
    credits: float | None = None
    transaction: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Event:
    #: The cursor behind this event.
    id: str
    #: Such as `memory.created`.
    type: str
    #: Time of the commit, ISO 8601.
    timestamp: str
    data: EventData


@dataclass(frozen=True)
class Events:
    events: tuple[Event, ...]
    #: Where to go on, also when there is nothing now.
    next_cursor: str
    has_more: bool


@dataclass(frozen=True)
class HookTrial:
    delivered: bool
    #: Why not.
    reason: str | None
    took_millis: int


@dataclass(frozen=True)
class HookDelivery:
    id: str
    type: str
    agent_id: str | None
    state: str
    attempts: int
    created_at: int
    next_at: int | None
    delivered_at: int | None
    reason: str | None


@dataclass(frozen=True)
class HookDeliveries:
    deliveries: tuple[HookDelivery, ...]


@dataclass(frozen=True)
class Repeated:
    repeated: int
