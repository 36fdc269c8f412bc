"""What the arguments of the clients' methods mean, each said once; `documented` puts them under the methods that take
them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from textwrap import fill
from typing import Any

_PARAMETERS: Mapping[str, str] = {
    "after": "Only calls with a greater id.",
    "agent_id": "The agent whose memories they are, 1 to 128 characters.",
    "agents": "Ids of agents: of a key those that it is bound to, of a webhook those it is told of; all by default.",
    "amount_usd": "US dollars in whole cents, 0.10 to 1,000.",
    "as_of": "What was stored and latest at this moment, not what was said by then: ISO 8601 with its offset, a "
    "`datetime`, or seconds or milliseconds since the epoch.",
    "before": "Id of the last call of the page before.",
    "body": "The claim, by the names of the contract.",
    "caller": "Only calls of this key or wallet.",
    "conflicts": "Says of each subject how many conflicts its profile has.",
    "contains": "Only values that hold this text.",
    "content": "A text, or messages as model APIs have them: text parts, calls and results of tools, times are read.",
    "context": "Turns around each message that was found, 0 to 5 on each side; of facts none.",
    "conversation": "Messages, oldest first, as model APIs have them, or one text of the user.",
    "conversation_date": "The day of the conversation, `2026-11-21` or a `date`; today by default.",
    "cursor": "`next_cursor` of the page before.",
    "data": "JSON by its names: of a write the memory's data, of a read exact values that data has.",
    "delivery": "Id of one message; all that were given up by default.",
    "description": "What the kind is for, as models read it.",
    "dry_run": "Only counts.",
    "event_date_from": "Only events at or after it: ISO 8601, a `date` or a `datetime`.",
    "event_date_to": "Only events at or before it: ISO 8601, a `date` or a `datetime`.",
    "expires_at": "End of the memory: milliseconds since the epoch or a `datetime`; of a change None for never.",
    "expires_in": "Life of the key, such as `30d`.",
    "explain": "With each hit why it stands where it does.",
    "facet": "What is counted.",
    "feedback": "Only memories with feedback: `given`, or some that says `useful` or `not_useful`.",
    "filters": "`agent_id`, `subject_id`, `thread_id`, `kind`, `tags`.",
    "force": "Also reads messages that were read before.",
    "format": "`text` for a prompt, or `json`.",
    "from_": "Where it begins: of a period a day, of events `now` (the default without a cursor) or `oldest`.",
    "grant": "The signed grant.",
    "grants": "At most 10 grants of others, or a share code.",
    "id": "Id of what is meant.",
    "idempotency_key": "The same key and body give the first answer again; made by the client while retries are on.",
    "ids": "Ids of memories, at most 100.",
    "if_match": "The `version` that is changed; another one is left as it is (ConflictError, 412).",
    "include": "`messages`, what was `extracted` and stored, or `all`.",
    "include_superseded": "Older versions too.",
    "instructions": "What a language model that reads the conversation looks for and leaves out.",
    "keep_made": "Keys that this key made stay.",
    "key": "The value of each unique field of the kind.",
    "kind": "Name of a kind of memory, such as `factual_memory`.",
    "label": "A name for people.",
    "limit": "How many at most, 1 to 100 of memories; the service has a default.",
    "max_tokens": "Length of the text, in tokens of the model that reads it.",
    "memories": "`NewMemory`, or dictionaries with `kind` and `data`; at most 100.",
    "messages": "The conversation so far; what its last message is about is looked for.",
    "metadata": "Values of your own beside the data, as an object; of a change None for none.",
    "min_relevance": "Only hits of at least this relevance, 0 to 1.",
    "name": "Name of the kind.",
    "newer_first": "Newer messages go before older ones that they change; true by default.",
    "now": "Moment that words such as `yesterday` count from: ISO 8601 with its offset, or a `datetime`.",
    "on_duplicate": "`return` answers a memory with the same data in place of storing a second one.",
    "operation": "Only calls of this operation.",
    "operator": "Only what an operator called in place of the account, or only the rest.",
    "order": "Of memories by time, `desc` or `asc`; of facets `memories`, `newest` or `name`; of calls `newest` or "
    "`slowest`.",
    "queries": "At most 10 `SearchQuery`.",
    "query": "What is looked for, at most 2,000 characters.",
    "read_only": "The key cannot write.",
    "recall": "`strict` misses nothing by meaning; `fast` by default.",
    "rerank": "`model`: the service's language model puts the best hits in order, for its tokens.",
    "refresh": "Fetches them again.",
    "refused": "Only calls that were refused, or only others.",
    "remember": "`messages` keeps the messages too, `extracted` only what they say; as the account says by default.",
    "schema": "A JSON Schema as text.",
    "schemas": "Names of the kinds to look for; all by default.",
    "scope": "`own` memories, those that are `shared` by grants, or `all`.",
    "sections": "Names of the sections; all by default.",
    "skip": "How many memories the page leaves out before its first, at most 10,000.",
    "slower_than": "Only calls that took at least so many milliseconds.",
    "state": "Of a webhook `active` or `paused`; of messages `pending`, `delivered` or `failed`.",
    "status": "Only calls that ended so: a status, or `4xx`, `5xx`.",
    "subject_id": "The user or thing that the memories are about.",
    "subjects": "Ids of subjects that the key is bound to.",
    "tags": "Of a write the tags that it gets; of a read tags of which a memory has any.",
    "thread_id": "The conversation.",
    "time_zone": "IANA name of the caller's zone, such as `Europe/Oslo`; UTC by default.",
    "to": "Last day of the period.",
    "tokenizer": "How tokens are counted: `o200k_base`, or `other` by a cautious estimate.",
    "ttl": "Life of the memory, such as `30d`.",
    "types": "Types of events; all by default.",
    "unique_on": "Names of the fields by which a newer memory supersedes an older one.",
    "useful": "Whether the memory was of use.",
    "url": "Where the events are sent, https.",
    "versions": "`all` removes older versions too; of `one` (default) the version before is the latest again.",
    "where": "Conditions on `data` and `metadata`, with `and`, `or`, `not` and comparisons.",
    "wait": "Answers when memories are found by meaning (`vectors`), or when the conversation is read (`extraction`).",
}

_ERRORS = "Raises `MunimentError`; its subclasses in `muniment.errors` say what went wrong."


def documented(build: Callable[..., Any]) -> str:
    """The function's text, with each of its parameters."""
    names = [name for name in inspect.signature(build).parameters if name != "self"]
    lines = [
        fill(f"{name}: {_PARAMETERS.get(name, '')}", 100, initial_indent="    ", subsequent_indent="        ") for name in names
    ]
    texts = [inspect.getdoc(build) or "", *(["Arguments:\n" + "\n".join(lines)] if lines else []), _ERRORS]
    return "\n\n".join(texts)
