import pytest
from agents import agent


@pytest.mark.parametrize("cap", range(1, 11))
def test_it(fake_provider, cap):
    with fake_provider.run("runaway") as run:
        agent(cap=cap)
        run.assert_turns(cap)
