import httpx
from agents import agent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@settings(
    max_examples=20,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(cap=st.integers(1, 8))
def test_it(fake_provider, cap):
    with fake_provider.run("runaway", in_process=True) as run:
        agent(httpx.Client(transport=run.transport), run.base_url, cap=cap)
        assert len(run.requests) < 4
