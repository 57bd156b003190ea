"""Holds the contract against one harness after another, in a process that has the rest loaded.

Reads a line of JSON each, `{"tree": folder, "clauses": [...]}`, and writes what came of it.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

REFERENCE = str(Path(__file__).parent / "reference.py")

for line in sys.stdin:
    order = json.loads(line)
    for name in [name for name in sys.modules if name.partition(".")[0] == "fakeprovider_harness"]:
        del sys.modules[name]
    sys.path.insert(0, order["tree"])
    outcome = runpy.run_path(REFERENCE)["check"](order["clauses"])
    outcome["harness"] = sys.modules["fakeprovider_harness"].__file__
    sys.path.remove(order["tree"])
    print(json.dumps(outcome), flush=True)
