"""Ray and SQL."""

from __future__ import annotations

import socket
from tempfile import TemporaryDirectory

import pytest
from ray_processes import CALL, ROUNDS, run

from benchmark_spec.errors import QueryError
from fslbench_data.sandbox.client import QueryProcess
from fslbench_data.scoring.sql import tables
from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt


def _asked(world: World, sql: str, seconds: float = 60, memory: str = "1GB") -> str:
    """The values that a query gives in a process of its own."""
    with QueryProcess(seconds=seconds, memory=memory) as process:
        process.load(tables(world.embedded))
        rows = process.run(sql).to_pylist()
    return ", ".join(str(value) for row in rows for value in row.values())


@attempt("SQL that stays hours in one function, `--seconds 1`")
def _(world: World) -> str:
    sql = "SELECT levenshtein(repeat('a', 1000000), repeat('b', 1000000))"
    return _asked(world, sql, seconds=1)


@attempt("SQL that makes one text of 4 GB, `--memory 300MB`")
def _(world: World) -> str:
    refused = "needs more memory than it may take"
    try:
        _asked(world, "SELECT length(repeat('x', 4000000000))", memory="300MB")
    except QueryError as error:
        return f"`QueryError`: the query {refused}" if refused in error.what else error.what
    return "a text of 4 GB"


@attempt("`--memory -1`")
def _(world: World) -> str:
    return _asked(world, "SELECT 1", memory="-1")


@attempt("`--seconds nan`")
def _(world: World) -> str:
    return _asked(world, "SELECT 1", seconds=float("nan"))


@attempt("`EXPLAIN ANALYZE CREATE TEMP TABLE …`")
def _(world: World) -> str:
    return _asked(world, "EXPLAIN ANALYZE CREATE TEMP TABLE made AS SELECT 1")


@attempt("a date of the year 99999, an interval, a union")
def _(world: World) -> str:
    return _asked(world, "SELECT DATE '99999-12-31', INTERVAL 3 DAYS, union_value(a := 'x')")


@attempt("SQL whose error has a terminal's commands in it")
def _(world: World) -> str:
    return _asked(world, "SELECT error('\x1b[31mred')")


@attempt("50 jobs on Ray whose third block raises, in one process", slow=True)
def _(world: World) -> str:
    pytest.importorskip("ray", reason="needs the extra `ray`")
    with TemporaryDirectory() as folder:  # sockets have short names only
        out = run(world.root, world.folder, ROUNDS, folder, "50")
    alive = "the process lives, and runs the next job"
    return f"{len(out.stdout.split())} errors; {'Ray ended it' if out.returncode else alive}"


@attempt("Ray with RAY_AUTH_MODE=token and no token", slow=True)
def _(world: World) -> str:
    pytest.importorskip("ray", reason="needs the extra `ray`")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        settings = {"RAY_AUTH_MODE": "token"}
        out = run(world.root, world.folder, CALL, address, settings=settings)
    return out.stdout.partition("\n")[0]
