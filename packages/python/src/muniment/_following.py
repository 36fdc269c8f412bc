"""The stream of events without its input and output: what is asked for, what its lines say, how long to wait after it has
ended. Server-sent events as in the HTML standard.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal, NoReturn

from ._exchange import RETRIED_STATUSES, Call, Reply, Send, Settings, pause_seconds, request_of, result
from ._exchange import read as read_reply
from ._wire import decoded, given
from .answers import Event, Events
from .errors import MunimentError

EventsFrom = Literal["now", "oldest"]


class Following:
    def __init__(
        self, settings: Settings, agent_id: str | None, cursor: str | None, from_: EventsFrom | None
    ) -> None:
        query = given({"agent_id": agent_id, "from_": from_})
        self._call = Call("GET", "/events", result(Events), query=query)
        self._settings = settings
        self._last = self._id = cursor
        self._data: list[str] = []
        self._failures = 0

    def request(self) -> Send:
        self._data, self._id = [], self._last
        last = {} if self._last is None else {"last-event-id": self._last}
        return request_of(self._call, self._settings, {"accept": "text/event-stream", **last})

    def read(self, line: str) -> Iterator[Event]:
        """The event that this line ends; a message that the end of the stream cuts is none."""
        if line == "":
            self._last = self._id
            data, self._data = self._data, []
            if data:
                self._failures = 0
                yield decoded(Event, {**json.loads("\n".join(data)), "id": self._last})
            return
        name, _, value = line.partition(":")
        if name == "id":
            self._id = value.removeprefix(" ")
        elif name == "data":
            self._data.append(value.removeprefix(" "))

    def refuse(self, reply: Reply) -> NoReturn:
        read_reply(reply, self._settings, None)
        raise MunimentError("the service gave no stream", code="invalid_response")

    def pause(self, error: MunimentError | None) -> float:
        """Seconds until the next attempt; raises the error if none is to be made after it."""
        if error is not None and error.status not in {0, *RETRIED_STATUSES}:
            raise error
        attempt, self._failures = self._failures, self._failures + 1
        return pause_seconds(attempt, None if error is None else error.retry_after)
