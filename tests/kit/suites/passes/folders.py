import sys

import benchmarks.own
import harness.own
import scenarios.own
from agents import agent


def test_it(fake_provider):
    with fake_provider.run(["done"]):
        assert agent() == "done"
    for own in (benchmarks, harness, scenarios):
        assert own.own.OWN
        assert sys.modules[own.__name__] is own
    assert not hasattr(harness, "RunState")
