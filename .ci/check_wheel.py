"""The wheel holds the four packages, their data and licences, no tests, and stays small."""

import sys
import zipfile
from pathlib import Path

LIMIT = 12_000_000
PACKAGES = {"benchmark_spec", "analysis_sql", "fslbench_data", "builders"}

path = Path(sys.argv[1])
names = zipfile.ZipFile(path).namelist()
size = path.stat().st_size
tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
assert tops == PACKAGES, tops
for package in PACKAGES:
    assert f"{package}/py.typed" in names, package
for wanted in (
    "benchmark_spec/catalogue/meta_dataset.json",
    "analysis_sql/queries/differences.sql",
    "fslbench_data/leaderboard/templates/board.html.j2",
    "fslbench_data/render/page/templates/base.html.j2",
    "fslbench_data/render/page/templates/page.css",
    "fslbench_data/render/page/templates/page.html.j2",
    "fslbench_data/render/page/templates/page.js",
    "fslbench_data/render/page/templates/table.html.j2",
    "fslbench_data/embedded/release.json",
    "fslbench_data/embedded/README.md",
):
    assert wanted in names, wanted
for licence in ("LICENSE", "NOTICE"):
    assert any(name.endswith(f".dist-info/licenses/{licence}") for name in names), licence
assert size < LIMIT, size
print(f"{path.name}: {len(names)} files, {size:,} bytes (limit {LIMIT:,})")
