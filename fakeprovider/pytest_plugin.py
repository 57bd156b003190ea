"""The pytest plugin: the fixtures `fake_provider` and `fake_run`, and the marker `fake_provider`.

A suite that uses none of them pays 15 ms: the kit is imported by the fixture that needs it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fakeprovider.testing import FakeProvider, Run

MARKER = "fake_provider"
_provider = pytest.StashKey["FakeProvider"]()
_run = pytest.StashKey["Run"]()
_outliving = pytest.StashKey[set[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(script, **options): point LLM_BASE_URL and its like at a scripted provider "
        "for this test; options are those of fake_provider.run. The run is the fixture fake_run.",
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """A marked test has its run whether it asks for it or not."""
    names: list[str] | None = getattr(item, "fixturenames", None)
    if names is not None and "fake_run" not in names and item.get_closest_marker(MARKER):
        names.append("fake_run")


@pytest.fixture(scope="session")
def fake_provider(request: pytest.FixtureRequest) -> Iterator[FakeProvider]:
    """A scripted provider for the session: `with fake_provider.run("runaway") as run: ...`."""
    from fakeprovider.testing import FakeProvider  # half a second, which only its users pay

    provider = FakeProvider(_current_test)
    request.config.stash[_provider] = provider
    request.config.stash[_outliving] = set()
    yield provider
    _fail_with(_problem_of(provider.close))


@pytest.fixture
def fake_run(request: pytest.FixtureRequest, fake_provider: FakeProvider) -> Iterator[Run]:
    """The run of a test that is marked with `fake_provider`."""
    marker = request.node.get_closest_marker(MARKER)
    if marker is None:
        raise pytest.UsageError(
            f"{request.node.nodeid} asks for fake_run and is not marked: add "
            f'@pytest.mark.{MARKER}("runaway"), or use the fixture fake_provider'
        )
    run = fake_provider.run(*marker.args, **marker.kwargs)
    request.node.stash[_run] = run
    run.open()
    yield run
    run.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """The run of a marked test is checked as part of the test."""
    result = yield
    run = item.stash.get(_run, None)
    if run is not None:
        _fail_with(_problem_of(run.finish))
    return result


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """A run that a fixture of a class, module or session opens may outlive a test."""
    stash = request.config.stash
    provider = stash.get(_provider, None)
    if provider is None or fixturedef.scope == "function":
        return (yield)
    before = provider.open_runs()
    try:
        return (yield)
    finally:
        stash[_outliving] |= {run.key for run in provider.open_runs() if run not in before}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """A test that leaves a run open fails, and the environment is put back for the next one."""
    try:
        yield
    finally:
        left = _close_left(item.config.stash)
    _fail_with(left)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what its agent asked and was answered."""
    report = yield
    provider = item.config.stash.get(_provider, None)
    if provider is not None and call.when == "call" and report.failed:
        # Hypothesis runs its smallest failing example last.
        runs = list(provider.recent)
        for run in runs[-1:] if hasattr(getattr(item, "obj", None), "hypothesis") else runs:
            report.sections.append((f"fakeprovider: {run.key}", run.transcript()))
    if provider is not None and call.when == "teardown":
        provider.recent.clear()
    return report


def _problem_of(check: Callable[[], None]) -> str:
    """What a check complains of, "" if it holds: raised outside `except` it is printed once."""
    try:
        check()
    except AssertionError as error:
        return str(error)
    return ""


def _fail_with(message: str) -> None:
    """Fail unless the message is empty."""
    if message:  # no line of the test is at fault: the message is all there is to show
        pytest.fail(message, pytrace=False)


def _close_left(stash: pytest.Stash) -> str:
    """Close the runs that a test left open; says which, "" for none."""
    provider = stash.get(_provider, None)
    if provider is None:
        return ""
    runs = [run for run in provider.open_runs() if run.key not in stash[_outliving]]
    return provider.close_left(runs)


def _current_test() -> str:
    return os.environ.get("PYTEST_CURRENT_TEST", "run").rpartition(" ")[0].rpartition("::")[2]
