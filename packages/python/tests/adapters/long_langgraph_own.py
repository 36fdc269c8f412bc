"""LangGraph's own tests of its stores, run over `MunimentStore`. Their files come with the sources of the packages that
are installed; they are fetched, never kept here.

    python long_langgraph_own.py FOLDER      # the sources go there; prints {"file::test": "passed" | "failed"} as JSON

As a plug-in of pytest, this puts `MunimentStore` in the place of the stores that those tests make, with the constructors
of these. Only tests that make one are reported: the others are of LangGraph's own helpers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import langgraph.store.memory
import langgraph.store.sqlite
import pytest
from muniment import Muniment
from muniment.adapters.langgraph import MunimentStore

SOURCES = {
    "langgraph-checkpoint": ["tests/test_store.py"],
    "langgraph-checkpoint-sqlite": ["tests/test_store.py", "tests/test_async_store.py"],
}
OUTCOMES = "OUTCOMES"


class _Place(MunimentStore):
    """A new store, told apart from all others. It has an index of its own, so what they configure is of no use to it."""

    made = 0
    #: Whether the test that runs has failed.
    failed = False

    def __init__(self, *, index: Any = None) -> None:
        _Place.made += 1
        super().__init__(Muniment(), agent_id=f"own-{uuid.uuid4().hex}")


class SyncPlace(_Place):
    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str, *, index: Any = None) -> Iterator[SyncPlace]:
        yield cls()

    def setup(self) -> None:
        """There is nothing to set up."""


class AsyncPlace(_Place):
    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str, *, index: Any = None) -> AsyncIterator[AsyncPlace]:
        yield cls()

    async def setup(self) -> None:
        """There is nothing to set up."""


def pytest_configure() -> None:
    for module, name, place in [
        (langgraph.store.memory, "InMemoryStore", SyncPlace),
        (langgraph.store.sqlite, "SqliteStore", SyncPlace),
        (langgraph.store.sqlite, "AsyncSqliteStore", AsyncPlace),
    ]:
        setattr(module, name, place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before = _Place.made
    _Place.failed = False
    outcome = yield
    if _Place.made > before:
        with open(os.environ[OUTCOMES], "a") as file:
            file.write(json.dumps([item.nodeid, "failed" if _Place.failed else "passed"]) + "\n")
    return outcome


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _Place.failed = _Place.failed or report.failed


def main(folder: Path) -> None:
    outcomes: dict[str, str] = {}
    for package, files in SOURCES.items():
        name = f"{package.replace('-', '_')}-{version(package)}"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*pip, "--dest", folder, f"{package}=={version(package)}"], check=True)
        with tarfile.open(folder / f"{name}.tar.gz") as archive:
            # Without their package, which would hide the installed one.
            wanted = [one for one in archive if one.name.split("/")[1] in ("tests", "pyproject.toml")]
            archive.extractall(folder, wanted, filter="data")
        report = folder / f"{name}.outcomes"
        environment = {**os.environ, OUTCOMES: str(report), "PYTHONPATH": own_path()}
        tests = [sys.executable, "-m", "pytest", "-p", Path(__file__).stem, "-p", "no:cacheprovider", *files]
        with open(folder / f"{name}.log", "w") as log:
            subprocess.run(tests, cwd=folder / name, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
        for line in report.read_text().splitlines():
            test, outcome = json.loads(line)
            outcomes[f"{package.removeprefix('langgraph-')}/{Path(test).name}"] = outcome
    print(json.dumps(outcomes))


def own_path() -> str:
    return os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
