"""Print the 20 slowest tests of some runs, from pytest's JUnit files, and how many ran."""

import sys
from pathlib import Path
from xml.etree import ElementTree

rows = []
for name in sys.argv[1:]:
    for case in ElementTree.parse(name).iter("testcase"):
        test = f"{case.get('classname', '').replace('.', '/')}::{case.get('name')}"
        rows.append((float(case.get("time", 0)), Path(name).stem, test))
for seconds, run, test in sorted(rows, reverse=True)[:20]:
    print(f"{seconds:7.1f} s  {run:6}  {test}")
print(f"{len(rows)} tests, {sum(row[0] for row in rows) / 60:.1f} minutes of a worker")
