"""Ctrl-C, bare machines, and files and variables that are not what they should be."""

import json
import os
import re
import struct
import sys
from contextlib import closing

import pytest
from click.testing import CliRunner
from commands import invoke
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import python

import fslbench_data as fb
from benchmark_spec.errors import OutputError, UnreadableError
from benchmark_spec.extras import install_line
from builders.cli import main as build_main
from builders.execution.steps import Journal
from fslbench_data.cli import main
from fslbench_data.evaluation.journal import Journal as Answers
from fslbench_data.submission.reading import read_accuracies

_INTERRUPTED = """
import os, signal, sys
from importlib import import_module
from importlib.metadata import entry_points

_, at, name, *_ = sys.argv

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == at:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
(command,) = entry_points(group="console_scripts", name=name)
module, _, function = command.value.partition(":")
sys.meta_path.insert(0, Finder())
del sys.argv[:2]
getattr(import_module(module), function)()
print("never asked for", at)
"""


@pytest.mark.parametrize(
    ("at", "command"),
    [
        ("fslbench_data.cli", "fslbench score examples/my_results.parquet"),
        ("click", "fslbench score examples/my_results.parquet"),
        ("pyarrow.lib", "fslbench score examples/my_results.parquet"),
        ("builders.cli.release", "fslbench-build verify fslbench_data/embedded"),
    ],
)
def test_ctrl_c_during_imports_ends_with_130_and_no_traceback(at, command, root):
    done = python(_INTERRUPTED, at, *command.split(), cwd=root, timeout=120)
    assert (done.returncode, done.stdout) == (130, ""), done.stderr
    assert done.stderr in ("", "Stopped.\n")


@pytest.mark.parametrize("command", [main, build_main])
def test_ctrl_c_in_a_command_ends_with_130(command, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    words = ["info"] if command is main else ["verify", "."]
    monkeypatch.setattr(command.commands[words[0]], "callback", interrupted)
    result = CliRunner().invoke(command, words)
    assert (result.exit_code, result.stderr) == (130, "Stopped.\n")


def _npy(shape, descr="<f8", data=b"\0" * 80):
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


HEADERS = {
    "2^40 numbers": _npy((2**40,)),
    "2^70 numbers": _npy((2**70,)),
    "less than none": _npy((-1,)),
    "texts": _npy((10,), "<U2"),
    "objects": _npy((10,), "|O"),
    "no header": b"\x93NUMPY\x01\x00\xff\xff",
    "deep": b"\x93NUMPY\x01\x00" + struct.pack("<H", 60_000) + b"[" * 60_000,
    "empty": b"",
}


@pytest.mark.parametrize("data", HEADERS.values(), ids=HEADERS.keys())
def test_headers_that_claim_what_is_not_there(data, tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(data)
    with pytest.raises(UnreadableError, match="cannot be read"):
        read_accuracies(path)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
NEARLY = st.tuples(VALUES | st.just("digits/open-5w10s7q"), VALUES, VALUES | st.lists(VALUES))
OPTIONS = {"features": "pixels", "datasets": ["digits"], "task_sets": "open-5w10s7q"}


def nearest(support, query, rng):
    return ((query[:, None] - support.mean(axis=1)) ** 2).sum(axis=2).argmin(axis=1)


@pytest.fixture(scope="module")
def finished(embedded, tmp_path_factory):
    path = tmp_path_factory.mktemp("journal") / "whole"
    submission = fb.evaluate(nearest, journal=path, **OPTIONS)
    return path.read_bytes(), submission.table


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=NEARLY | VALUES)
def test_lines_of_other_types_are_answered_again(line, finished, tmp_path):
    whole, table = finished
    head, *lines = whole.splitlines(keepends=True)
    path = tmp_path / "journal"
    path.write_bytes(head + b"".join(lines[:3]) + json.dumps(line).encode() + b"\n" + lines[4])
    assert fb.evaluate(nearest, journal=path, **OPTIONS).table.equals(table)


def test_journals_nested_deep(tmp_path):
    path = tmp_path / "journal"
    path.write_bytes(b'{"a":1}\n' + b"[" * 100_000 + b"\n")
    with closing(Answers(path, {"a": 1}, {})) as journal:
        assert not journal.answers
    path.write_text("[" * 100_000)
    with pytest.raises(OutputError, match="cannot be read"):
        Journal(tmp_path, "journal", "lock", "work")


@pytest.mark.parametrize("key", ["of", "notes", "made"])
@pytest.mark.parametrize("value", [None, 1, "x", [[]], [{}], [1], {"x": 1}, {"x": {"files": 1}}])
def test_a_journal_of_steps_of_other_types(key, value, tmp_path):
    content = json.dumps({"of": {"a": 1}, "notes": {}, "made": {}} | {key: value})
    (tmp_path / "journal").write_text(content)
    with pytest.raises(OutputError, match=r"cannot be read|differ in"):
        Journal(tmp_path, "journal", "lock", "work").begin({"a": 1})


@pytest.mark.parametrize("value", ["x" * 20_000, "9" * 20_000, "x " * 10_000, "1." * 10_000])
def test_long_values_on_the_command_line(value, tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for command in (
        ["score", f"{value}.parquet"],
        ["score", "examples/my_results.parquet", "-o", f"{value}.csv"],
        ["score", "examples/my_results.parquet", "--release", tmp_path / "loop"],
        ["score", "examples/my_results.parquet", "--dataset", value],
        ["score", "examples/my_results.parquet", "--against", value],
        ["score", value],
        ["info", value],
        ["compare", value, value],
    ):
        result = invoke(*command)
        assert (result.exit_code, result.stdout) == (2, ""), (command[0], result.exception)
        assert len(result.stderr) < 5000, command[:2]


@pytest.mark.slow
def test_any_width(root):
    code = (
        "import os, resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "from fslbench_data.cli import main\n"
        "for columns in '1000000000', '99999999999999999999':\n"
        "    os.environ |= {'COLUMNS': columns, 'LINES': columns}\n"
        "    main(['score', 'examples/my_results.parquet'], standalone_mode=False)"
    )
    done = python(code, cwd=root, env=os.environ | {"FORCE_COLOR": "1"}, timeout=200)
    assert not done.returncode, done.stderr[-500:]
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", done.stdout)
    assert max(map(len, plain.splitlines())) <= 1000


NOBODY = """
import pwd
pwd.getpwuid = {}.__getitem__
import fslbench_data
from pathlib import Path
from huggingface_hub import constants
print(Path.home(), constants.HF_ASSETS_CACHE)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such users")
def test_a_user_without_a_home(tmp_path, root):
    """Altair asks for it when it is imported; huggingface_hub would make a folder called "~"."""
    own = ("HOME", "HF_HOME", "HF_ASSETS_CACHE", "XDG_CACHE_HOME")
    known = {name: value for name, value in os.environ.items() if name not in own}
    done = python(NOBODY, env={**known, "PYTHONPATH": str(root)}, cwd=tmp_path, check=True)
    assert done.stdout.split() == ["/nonexistent", "/nonexistent/.cache/huggingface/assets"]


@pytest.mark.slow
def test_without_pytorch_an_error_says_how_to_install_it():
    said = python(
        "import sys; sys.modules['torch'] = None\n"
        "import fslbench_data as fb\n"
        "from benchmark_spec.errors import MissingPackageError\n"
        "def module(): import fslbench_data.torch\n"
        "def adapter(): fb.easyfsl(object())\n"
        "def run(): fb.evaluate(abs, features='pixels', device='cpu')\n"
        "for call in (module, adapter, run):\n"
        "    try: call()\n"
        "    except MissingPackageError as error: print(error)\n",
        check=True,
    ).stdout
    assert said.count("the package 'torch' is not installed") == 3
    assert said.count(install_line("torch")) == 3


@pytest.mark.slow
def test_a_method_on_arrays_imports_neither_pytorch_nor_scikit_learn():
    imported = python(
        "import sys, numpy as np, fslbench_data as fb\n"
        "class Constant:\n"
        "    def fit(self, x, y): ...\n"
        "    def predict(self, x): return np.zeros(len(x), int)\n"
        "where = {'datasets': 'digits', 'features': 'pixels', 'task_sets': 'open-5w5s5q'}\n"
        "fb.evaluate(fb.sklearn(Constant()), **where)\n"
        "print(*({'torch', 'sklearn', 'easyfsl'} & set(sys.modules)))\n",
        check=True,
    ).stdout.split()
    assert imported == []


READ = """
import sys
from fslbench_data.entry import fslbench
sys.argv = ["fslbench", "validate", "examples/my_results.parquet"]
try:
    fslbench()
finally:
    assert "pyarrow" in sys.modules and "pandas" not in sys.modules
"""


@pytest.mark.slow
def test_a_file_is_read_without_pandas(root):
    python(READ, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, check=True)
