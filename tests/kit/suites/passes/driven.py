import sys

from agents import agent

from fakeprovider import ask


def test_command(fake_provider):
    code = "from agents import agent; print(agent())"
    drove = fake_provider.drive(
        [sys.executable, "-c", code], "plan", tools={"read_file": "list_files"}
    )
    assert (drove.status, drove.stopped) == (0, False)
    assert "timeout" in drove.output
    drove.run.assert_turns(3)


def test_endless_command(fake_provider):
    code = "from agents import agent; print(agent(cap=10**9))"
    drove = fake_provider.drive([sys.executable, "-c", code], "runaway", max_requests=7)
    assert drove.stopped
    drove.run.assert_turns(7)
    ends = next(one for one in drove.verdict() if one.clause == "ends")
    assert ends.failed


def test_function(fake_provider):
    drove = fake_provider.drive(lambda run: agent(url=run.base_url, cap=3), "runaway")
    assert (drove.value, drove.stopped) == ("gave up", False)


def test_endless_function(fake_provider):
    drove = fake_provider.drive(lambda run: agent(cap=10**9), "runaway", max_requests=5)
    assert drove.stopped
    assert "400" in str(drove.error)


def test_a_function_that_is_refused_before_the_script_ends(fake_provider):
    replies = [ask("list_files"), ask("list_files"), "done"]
    drove = fake_provider.drive(lambda run: agent(), replies, max_requests=1)
    assert drove.stopped
    assert len(drove.run.requests) == 2
