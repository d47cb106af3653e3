"""Check a submission against a release: every rule, all rows at once; nothing is repaired."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.stopping import misleading_capital, tolerable_capital
from analysis_sql.queries.engine import offending_rows
from benchmark_spec.errors import (
    ContradictionError,
    CountError,
    DoubledTaskError,
    DriftError,
    FingerprintError,
    FSLBenchError,
    MethodNameError,
    MissingTaskError,
    PredictionError,
    QueryCountError,
    SubmissionError,
    UnboundError,
    UnknownTaskError,
    UnreadableError,
    listing,
    many,
    rows,
)
from benchmark_spec.naming import check_method_name
from benchmark_spec.protocol import TaskSetName, suite_of
from fslbench_data.release.release import Release, load_release
from fslbench_data.submission.bindings import Method
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Source, Submission
from fslbench_data.tasks import Episodes, TaskSetInfo
from fslbench_data.validation.by_image import open_submissions
from fslbench_data.validation.rows import Group, Rows, Terms, register, sum_runs

Rules = tuple[Callable[[Rows, Terms], None], ...]

FINGERPRINT_DIGITS = 12
"""As many of a fingerprint's digits, or more, name a task set; as `fslbench info` prints them."""


def _declared_rows(table: Rows, _: Terms) -> None:
    """Check that every group that the metadata declares has rows."""
    there = {key.bound_by for key in table.keys}
    if lost := [key for key in table.submission.bindings if key not in there]:
        named = [f"{method} on {dataset}/{task_set}" for method, dataset, task_set in lost]
        raise MissingTaskError(
            f"the metadata declares results that have no rows: {listing(named, 4)}",
            where=table.where,
            expected="rows for everything that is declared",
            fix="write the file again from all its results",
        )


def check_not_taken(method: str, taken: Collection[str], where: str = "") -> None:
    """Refuse the name of a reference method."""
    if method in taken:
        raise MethodNameError(
            f"a reference method of the release is already called {method!r}",
            where=where,
            expected=f"a name other than {listing(sorted(taken))}",
            fix="rename your method",
        )


def _names(table: Rows, terms: Terms) -> None:
    """Check that names are valid, and that no method's is taken."""
    methods: dict[str, int] = {}
    runs: dict[str, int] = {}
    for key, row in zip(table.keys, table.first, strict=True):
        methods.setdefault(key.method, row)
        if key.run is not None:
            runs.setdefault(key.run, row)
    for method, row in methods.items():
        where = f"{table.where}, from {rows([row])}"
        check_method_name(method, where)
        check_not_taken(method, terms.taken, where)
    for run, row in runs.items():
        check_method_name(run, f"{table.where}, from {rows([row])}", "run")


def _runs(table: Rows, _: Terms) -> None:
    """Check that a method's results on a task set are all in named runs, or none is."""
    for members in table.results.values():
        loose = next((group for group in members if table.keys[group].run is None), None)
        if len(members) > 1 and loose is not None:
            raise DoubledTaskError(
                f"{table.keys[loose]} has rows without a run beside its runs",
                where=f"{table.where}, from {rows([table.first[loose]])}",
                expected="a run in every row of a method and task set, or in none",
                fix="name the run of these rows, or leave them out",
            )


def _fingerprints(table: Rows, _: Terms) -> None:
    """Check that the metadata's fingerprints are the release's."""
    for key in table.keys:
        binding = table.binding(key)
        if binding is not None and not fits(binding.fingerprint, key.info):
            what, expected, fix = _other_tasks(binding.fingerprint, key.info)
            where = f"{table.where}, metadata of {key}"
            raise FingerprintError(what, where=where, expected=expected, fix=fix)


def _bound(table: Rows, terms: Terms) -> None:
    """Check fingerprints, where they are required, rules to stop, and numbers of tasks."""
    if not terms.allow_unbound and not all(table.bound):
        groups = zip(table.keys, table.bound, strict=True)
        loose = [str(key) for key, is_bound in groups if not is_bound]
        raise UnboundError(
            "the submission does not say which tasks it was made on",
            where=f"{table.where}: {listing(loose, 4)}",
            expected="the task set's fingerprint, in a column `fingerprint` or in the metadata "
            "that Submission.write leaves (pandas drops it)",
            fix="add the column (fslbench info lists the fingerprints), or pass --unbound to "
            "score on your word; the output then says `unbound`",
        )
    for key in table.keys:
        binding = table.binding(key)
        if binding is not None and binding.stopping is not None:
            where = f"{table.where} ({key})"
            check_may_stop(key.info, terms.release, binding.stopping.level, where)
    for key, expected in zip(table.keys, table.expected, strict=True):
        if expected > key.info.n_tasks:
            raise UnknownTaskError(
                f"the metadata declares {expected} tasks",
                where=f"{table.where} ({key})",
                expected=f"at most {key.info.n_tasks}, the tasks of the set",
            )


def fits(fingerprint: str | None, info: TaskSetInfo) -> bool:
    """Return whether a fingerprint, or its first twelve or more digits, is the task set's."""
    return (
        fingerprint is not None
        and len(fingerprint) >= FINGERPRINT_DIGITS
        and info.fingerprint.startswith(fingerprint.lower())
    )


def _other_tasks(fingerprint: str | None, info: TaskSetInfo) -> tuple[str, str, str]:
    """Return what is wrong with a fingerprint that does not fit, what was expected, and the fix."""
    if fingerprint is None:
        return (
            "the fingerprint is left out of some rows",
            f"{info.fingerprint} in all rows of {info}, or in none",
            "fill the column",
        )
    if not re.fullmatch(rf"[0-9a-fA-F]{{{FINGERPRINT_DIGITS},64}}", fingerprint):
        return (
            f"{fingerprint!r:.80} is not a fingerprint",
            f"{FINGERPRINT_DIGITS} to 64 hexadecimal digits: that of {info} is {info.fingerprint}",
            "copy it from fslbench info",
        )
    return (
        f"the answers were made on other tasks than the release's {info}",
        f"fingerprint {info.fingerprint}, found {fingerprint}",
        "run the method on this release's tasks, or score with the release it was run on "
        "(--release)",
    )


def check_may_stop(info: TaskSetInfo, release: Release, level: float, where: str = "") -> None:
    """Refuse a rule to stop early on a task set with classes that drift along it.

    Closed and balanced sets are drawn so that every task has a class with the same probability,
    wherever it stands; others are judged by their tasks (:mod:`analysis_sql.intervals.stopping`).
    Raises a DriftError naming the balanced set of the same data and protocol, where there is one.
    """
    if info.name.varies or suite_of(info.name.suite).whole:
        raise DriftError(
            f"tasks of {info} differ in queries, or are few",
            where=where,
            expected="a rule to stop on many tasks of one size",
            fix="answer all tasks without a rule",
        )
    if info.name.interval == "closed" or info.name.suite == "balanced":
        return
    ids = np.ascontiguousarray(release.class_ids(info), np.int32)
    if _capital(ids.tobytes(), ids.shape[1]) < tolerable_capital(level):
        return
    balanced = TaskSetName("balanced", info.protocol)
    there = any(i.dataset == info.dataset and i.name == balanced for i in release.task_sets)
    expected, fix = "a rule to stop on a set without drift", "answer all tasks without a rule"
    raise DriftError(
        f"classes drift along {info}: it uses some classes up before others, so that a run which "
        "stops early concludes wrongly too often",
        where=where,
        expected=f"{expected}, such as {info.dataset}/{balanced}"
        if there
        else f"{expected}; the release has no balanced set of this data and protocol",
        fix=f"stop early on {info.dataset}/{balanced}, or {fix}" if there else fix,
    )


@lru_cache(maxsize=256)
def _capital(class_ids: bytes, way: int) -> float:
    return misleading_capital(np.frombuffer(class_ids, np.int32).reshape(-1, way))


class First(list[Any]):
    """The first of `total` items, for messages that count all of them."""

    def __init__(self, items: Sequence[Any], total: int) -> None:
        super().__init__(items)
        self.total = total

    def __len__(self) -> int:
        return self.total


class RowRule(Struct, frozen=True):
    """A rule about rows: a file of that name in ``analysis_sql/queries/rules``, and its wording.

    The texts may name columns of the first row that breaks the rule, and what :meth:`_fields` adds.
    A rule may read a table of facts; one about an optional column is met without it.
    """

    name: str
    error: type[SubmissionError]
    what: str
    expected: str = ""
    fix: str = ""
    facts: str = ""
    column: str = ""

    def __call__(self, table: Rows, _: Terms) -> None:
        """Raise the error of the rule if it is broken."""
        if self.column and self.column not in table.columns:
            return
        if self.facts and not table.facts(self.facts):
            return
        if broken := offending_rows(table.connection, self.name):
            fields = _fields(table, broken)
            what, expected, fix = (
                text.format_map(fields) for text in (self.what, self.expected, self.fix)
            )
            raise self.error(what, where=fields["where"], expected=expected, fix=fix)


def _fields(table: Rows, broken: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the fields of messages about rows that break a rule, of the first of them and more."""
    first = broken[0]
    total, fields = first.get("total", 0), dict(first)
    where = table.where
    if "row" in first:
        where += f", {rows(First([row['row'] for row in broken], total))}"
    if "by_rows" in first:
        fields["method"] = table.methods[first["method"]]
        fields["others"] = "other rows" if first["by_rows"] else "the file's metadata"
        fields["value"] = str(first["transductive"]).lower()
    if "ids" in first:
        fields["tasks"] = listing(First(first["ids"], first["n"]))
    if "group" in first:
        key, expected = table.keys[first["group"]], table.expected[first["group"]]
        info, protocol = key.info, key.info.protocol
        where += f" ({key})"
        fields |= {"set": info.name, "last_of_set": info.n_tasks - 1, "last": expected - 1}
        fields |= {"claimed": expected, "ways": protocol.way, "each": protocol.query}
        fields["queries"] = protocol.n_query
        if "fingerprint" in first:
            texts = _other_tasks(first["fingerprint"], info)
            fields |= zip(("wrong", "right", "mend"), texts, strict=True)
    if "n_correct" in first:
        fields["counts"] = listing(First([row["n_correct"] for row in broken], total))
    return {**fields, "where": where}


def _episodes(table: Rows, terms: Terms) -> None:
    """Check that queries, counts and lists are those of each episode, which differ in shape."""
    by_class, by_query = "class_correct" in table.columns, table.predictions is not None
    if by_query:
        table.facts("predicted")
    sql = (
        "SELECT r.rowid AS row, task_id, n_correct, r.n_query, "
        + ("coalesce(len(class_correct), -1) AS class_correct, " if by_class else "")
        + ("coalesce(p.length, -1) AS length, coalesce(p.most, 0) AS most, " if by_query else "")
        + ("coalesce(p.name = 'correct', false) AS correct, " if by_query else "")
        + 'FROM rows AS r JOIN groups USING ("group") '
        + ("LEFT JOIN predicted AS p ON p.row = r.rowid " if by_query else "")
        + 'WHERE "set" = ? ORDER BY r.rowid'
    )
    for number, info in enumerate(table.infos):
        if not info.name.varies:
            continue
        tasks = terms.release.task_set(info.dataset, str(info.name))
        assert isinstance(tasks, Episodes)  # noqa: S101
        own = table.connection.execute(sql, [number]).fetchnumpy()
        task, counts, n_query = (own[name] for name in ("task_id", "n_correct", "n_query"))
        queries, ways = tasks.queries[task], (tasks.class_ids >= 0).sum(axis=1)[task]
        checks: list[tuple[type[SubmissionError], str, NDArray[Any], Any, Any]] = [
            (QueryCountError, "n_query is", n_query != queries, n_query, queries),
            (CountError, "n_correct is", (counts < 0) | (counts > queries), counts, queries),
        ]
        correct = own["correct"] if by_query else np.zeros(len(task), bool)
        lists = [("class_correct", own["class_correct"], ways)] if by_class else []
        for name, of in (("predictions", ~correct), ("correct", correct)):
            if by_query:
                lists.append((name, np.where(of, own["length"], -1), queries))
        for name, length, size in lists:
            wrong = (length != size) & (length >= 0)
            checks.append((PredictionError, f"entries of {name}:", wrong, length, size))
        for error, what, wrong, found, size in checks:
            if (bad := np.flatnonzero(wrong)).size:
                raise error(
                    f"{what} {found[bad[0]]}",
                    where=f"{table.where}, {rows(own['row'][bad])} ({info})",
                    expected=f"{size[bad[0]]}, as task {task[bad[0]]} has {ways[bad[0]]} ways and "
                    f"{queries[bad[0]]} queries",
                )
        if by_query and (bad := np.flatnonzero((own["most"] >= ways) & ~correct)).size:
            raise PredictionError(
                f"predictions holds {own['most'][bad[0]]}",
                where=f"{table.where}, {rows(own['row'][bad])} ({info})",
                expected=f"0..{ways[bad[0]] - 1}, the position of the class in the task",
            )


def _given_once(table: Rows, terms: Terms) -> None:
    """Check that no method has both `predictions` and `correct` on a task set."""
    if table.predictions is not None and (bad := table.predictions.given_twice()).size:
        raise PredictionError(
            "there are both predictions and correct",
            where=f"{table.where}, {rows(bad)}",
            expected="one of them; predictions say more",
            fix="leave the column `correct` out",
        )


def _second_bests(table: Rows, terms: Terms) -> None:
    """Check that second-best classes are not those predicted, of tasks of all classes."""
    if "second" not in table.columns:
        return
    if table.predictions is None:
        raise PredictionError(
            "there are second-best classes, and no predictions",
            where=table.where,
            expected="a column `predictions` beside `second`",
        )
    for bad, what, expected in table.predictions.second_bests():
        if bad.size:
            raise PredictionError(
                what,
                where=f"{table.where}, {rows(np.unique(bad))}",
                expected=expected,
                fix="give the position of the class with the highest score but one, or leave the "
                "column `second` out",
            )


_FINGERPRINTS: Rules = (
    _fingerprints,
    RowRule(
        "fingerprint",
        FingerprintError,
        "{wrong}",
        "{right}",
        "{mend}",
        "group_fingerprints",
        "fingerprint",
    ),
)
"""The rules about fingerprints, in the metadata and in the column."""

RULES: Rules = (
    _declared_rows,
    RowRule(
        "transductive",
        ContradictionError,
        "transductive of {method} is {value}, and {others} say otherwise",
        "the same in all rows of a method, and in its metadata",
        "write what is true of the method, or leave it empty",
        "marks",
        "transductive",
    ),
    _names,
    _runs,
    RowRule(
        "n_query",
        QueryCountError,
        "n_query is {n_query}",
        "{queries}, since a task of {set} has {ways} ways with {each} queries each",
        "answer every query of the task set named in the row",
        "group_facts",
    ),
    RowRule(
        "unknown_task",
        UnknownTaskError,
        "there is no task {tasks}",
        "task_id 0..{last_of_set}",
        "number tasks from 0 in the release's order, and leave out any others",
        "group_facts",
    ),
    RowRule(
        "count_out_of_range",
        CountError,
        "n_correct is {counts}, out of range",
        "0..{queries}, the number of queries answered rightly",
        "give counts of correct queries, not percentages",
        "group_facts",
    ),
    *_FINGERPRINTS,
    _bound,
    RowRule(
        "doubled_task",
        DoubledTaskError,
        "task {tasks} is answered more than once",
        "one row for each task",
        "keep one answer; several methods in one file need different names, and several runs of "
        "one method a column `run`",
        "incomplete",
    ),
    RowRule(
        "missing_task",
        MissingTaskError,
        "{n} of {claimed} tasks are missing: task_id {tasks}",
        "every task_id 0..{last} once",
        "run the missing tasks; a file of only the first m tasks must declare so, as Parquet files "
        "do that Recorder wrote (CSV and JSON Lines cannot)",
        "incomplete",
    ),
    RowRule(
        "task_beyond_declared",
        UnknownTaskError,
        "task_id {tasks} lies beyond the {claimed} tasks that the metadata declares",
        "task_id 0..{last}",
        "declare the number of tasks that were really answered",
        "incomplete",
    ),
    _episodes,
    RowRule(
        "class_correct_null",
        PredictionError,
        "class_correct has a null inside",
        column="class_correct",
    ),
    RowRule(
        "class_correct_length",
        PredictionError,
        "class_correct has {length} entries",
        "{ways} (K, one count for each class of the task)",
        column="class_correct",
    ),
    RowRule(
        "class_correct_range",
        PredictionError,
        "class_correct holds {worst}",
        "0..Q, the class's queries answered rightly",
        column="class_correct",
    ),
    RowRule(
        "class_correct_sum",
        ContradictionError,
        "class_correct sums to {counted} where n_correct is {n_correct}",
        "the counts of a task's classes to sum to n_correct",
        column="class_correct",
    ),
    _given_once,
    RowRule("predictions_null", PredictionError, "{name} has a null inside", facts="predicted"),
    RowRule(
        "predictions_length",
        PredictionError,
        "{name} has {length} entries",
        "{queries} (K·Q, one for each query in the frozen order)",
        facts="predicted",
    ),
    RowRule(
        "predictions_range",
        PredictionError,
        "predictions holds {worst}",
        "0..K-1, the position of the class in the task's class_ids",
        facts="predicted",
    ),
    RowRule(
        "correct_range",
        PredictionError,
        "correct holds {worst}",
        "1 where a query is answered rightly, else 0",
        facts="predicted",
    ),
    RowRule(
        "counts_contradict_predictions",
        ContradictionError,
        "by the column {name}, {counted} queries are right where n_correct is {n_correct}",
        "counts that follow from the column {name}",
        "predictions are positions 0..K-1 in class_ids, correct is 1 or 0, in the frozen order of "
        "queries; drop the counts' own computation or mend it",
        "contradictions",
    ),
    RowRule(
        "class_counts_contradict_predictions",
        ContradictionError,
        "class_correct is {class_correct} where the column {name} gives {by_class}",
        "counts that follow from the column {name}, by position in class_ids",
        facts="contradictions",
    ),
    _second_bests,
)
"""In this order: of several broken rules, the first is raised."""


class Validated(Struct, frozen=True, eq=False, dict=True):
    """A submission that fits a release, and its groups of a method and task set, by first row."""

    submission: Submission
    groups: tuple[Group, ...]
    are_references: bool = False

    def __repr__(self) -> str:
        task_sets = len({group.info.text for group in self.groups})
        about = f"{many(len(self.methods), 'method')} on {many(task_sets, 'task set')}"
        return f"<Validated {self.submission.source}: {about}>"

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the order of their first row."""
        return tuple(dict.fromkeys(group.method for group in self.groups))

    @cached_property
    def _by_set(self) -> dict[str, list[Group]]:
        groups: dict[str, list[Group]] = {}
        for group in self.groups:
            groups.setdefault(group.info.text, []).append(group)
        return groups

    def is_prefix(self, group: Group) -> bool:
        """Return whether a group has the first tasks of its set, as many as the submitter chose.

        A number that is chosen after a look at the results is biased. A rule to stop, the maker of
        a release, and a suite that declares half of its set, do not look.
        """
        key = (group.method, group.info.dataset, str(group.info.name))
        binding = self.submission.bindings.get(key)
        if binding is not None and (binding.of_release or binding.stopping is not None):
            return False
        return group.tasks not in group.info.name.declared_tasks(group.info.n_tasks)

    def of_one_model(self, group: Group) -> bool:
        """Return whether a group is a single run of a method that may differ from run to run."""
        about = self.submission.methods.get(group.method)
        return len(group.runs) < 2 and (about is None or about.trained is not False)

    def on(self, dataset: str, task_set: str) -> list[Group]:
        """Return the groups on a task set, one a method."""
        return self._by_set.get(f"{dataset}/{task_set}", [])


def counts_on(groups: list[Group]) -> Counts:
    """Join the counts of some groups on one task set."""
    run = groups[0].run_of_task if groups else None
    if run is not None:
        return Counts.of_own_tasks(np.stack([group.counts for group in groups]), run)
    return Counts.of(
        [g.counts for g in groups],
        [g.queries_per_task for g in groups],
        [g.run_spread for g in groups],
        [len(g.runs) for g in groups],
        [g.right for g in groups],
    )


def validate(
    submission: Source | Sequence[Source],
    release: Release | None = None,
    *,
    taken: Collection[str] | None = None,
    allow_unbound: bool = False,
    rules: Rules = RULES,
) -> Validated:
    """Check a submission against a release, or several as one, by every rule, or by `rules`.

    The other parameters are those of :func:`fslbench_data.validate`, which takes logs of one's own
    tasks, too.  Raises a SubmissionError, whose kind says which rule is broken.
    """
    release = load_release() if release is None else release
    terms = Terms(release, release.methods if taken is None else taken, allow_unbound)
    parts = open_submissions(submission, release)
    together = merge(parts)
    try:
        return _checked(together, terms, rules)
    except (FSLBenchError, pa.ArrowException, OSError):
        for part in parts if len(parts) > 1 else ():
            _checked(merge(part), terms, rules)
        raise


def _checked(submission: Submission, terms: Terms, rules: Rules) -> Validated:
    """Return the validated submission, if every rule is met."""
    if not submission.table.num_rows:
        raise UnreadableError(f"{submission.source} has no rows", fix="record some answers")
    table = register(submission, terms.release)
    try:
        for rule in rules:
            rule(table, terms)
        groups = tuple(sum_runs(table))
        return Validated(replace(submission, methods=_marked(table)), groups)
    finally:
        table.connection.close()


def check_fingerprints(submission: Submission, release: Release) -> None:
    """Raise a FingerprintError if results are bound to other tasks than the release's.

    Results without a fingerprint, and any others, are accepted.
    """
    table = register(submission, release)
    try:
        for rule in _FINGERPRINTS:
            rule(table, Terms(release, (), allow_unbound=True))
    finally:
        table.connection.close()


def _marked(table: Rows) -> dict[str, Method]:
    """Return the metadata of methods, of the others by the column `transductive`.

    Raises a SpecError if one of them is inductive, too.
    """
    methods = dict(table.submission.methods)
    if "transductive" in table.columns:
        table.facts("marks")
        marks = table.connection.execute("SELECT method, transductive FROM marks ORDER BY row")
        for number, value in marks.fetchall():
            name = table.methods[number]
            methods.setdefault(name, Method(name, transductive=value))
    for name in sorted(table.inductive & methods.keys()):
        replace(methods[name], inductive=True)  # which a transductive one refuses
    return methods
