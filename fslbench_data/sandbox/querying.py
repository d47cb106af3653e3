"""SQL in a process of its own, whose memory and time are bounded from outside.

DuckDB looks at its limits between pieces of work only; one function of one value, such as a text
that is repeated 400 million times, takes what it takes.  So the process is ended when its time is
up, and gets no more memory from the system than it may take.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

import pyarrow as pa

from analysis_sql.queries.limits import MEMORY, SECONDS, check_seconds, memory_bytes
from benchmark_spec.errors import QueryError
from fslbench_data.sandbox.process import EndedError, Process

_LOAD_SECONDS = 600.0


class QueryProcess:
    """A process with a database of its own; it starts while the tables are read here.

    A query may take so many seconds until the last row of its result is here, and so much memory,
    such as ``1GB``, besides what the tables take; its result may be as large.  The latter holds on
    Linux; elsewhere only what DuckDB itself counts is limited.  Raises a QueryError if either is no
    such limit.
    """

    def __init__(self, *, seconds: float = SECONDS, memory: str = MEMORY) -> None:
        check_seconds(seconds)
        self._seconds, self._memory, self._bytes = seconds, memory, memory_bytes(memory)
        self._process = Process("query")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.stop()

    def load(self, tables: Mapping[str, object]) -> None:
        """Open the database over those that are Arrow tables, not only made when they are read.

        Raises a QueryError if no process can do so.
        """
        made = {name: table for name, table in tables.items() if isinstance(table, pa.Table)}
        try:
            self._process.ask({"memory": self._memory}, _LOAD_SECONDS, tables=made)
        except EndedError as ended:
            raise QueryError(
                f"no process could be started to run the query ({ended.cause}, {ended.code})",
                fix="see whether the machine has memory left",
            ) from None

    def run(self, sql: str, *, spent: float = 0.0) -> pa.Table:
        """Run one SELECT over the tables of :meth:`load`, of whose seconds some are spent.

        Raises a QueryError if it is no SELECT, fails, or takes more memory or time than it may.
        """
        try:
            left = max(self._seconds - spent, 0.001)
            request = {"sql": sql, "seconds": left}
            answers = self._process.ask(request, left, most_bytes=self._bytes)
        except EndedError as ended:
            raise self._error_of(ended) from None
        return pa.concat_tables(answers)

    def _error_of(self, ended: EndedError) -> QueryError:
        """What a query has done to the process that ran it."""
        if ended.cause == "late":
            return QueryError(
                f"the query ran for more than {self._seconds:g} seconds",
                fix="ask for less, or allow more with --seconds",
            )
        what = {
            "memory": f"the query takes more than {self._memory} of memory",
            "large": f"the result takes more than {self._memory}",
        }.get(ended.cause, f"the query ended the process that ran it ({ended.code})")
        return QueryError(what, fix="ask for less, or allow more with --memory")
