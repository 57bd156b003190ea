"""What a person is told of a request that was in flight when its process died."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from fakeprovider.server import Server
from fakeprovider_harness import RunState, Store
from fakeprovider_harness.commands.cli import main
from fakeprovider_harness.records import Request


def test_a_lost_request_is_told_with_its_price_and_the_total_as_an_estimate(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = RunState.start("Which file?", run_id="r")
    state.request = Request(1, 1_000, 4_096, Decimal("0.051152"))
    with Store(tmp_path / "runs.sqlite") as store:
        store.save(state)
    options = ["--base-url", server.url_for("plan"), "--price-in", "2", "--price-out", "12"]
    options += ["--dir", str(tmp_path), "--store", str(tmp_path / "runs.sqlite")]
    with pytest.raises(SystemExit):
        main(["--resume", "r", *options])
    told = capsys.readouterr().err
    assert "in flight" in told
    assert "charged with 1,000 in, 4,096 out, $0.051152" in told
    assert "~$0.05" in told
    assert "~ in part an estimate" in told
