"""Claims on runs: one owner at a time, and no file is left of those that are over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fakeprovider_harness import RunBusy, Store
from fakeprovider_harness.persistence.store import Claims

STANDING = {"schema.lock", "claims.lock"}

CLAIMANT = """
import os, sys, time
from pathlib import Path
from fakeprovider_harness import RunBusy
from fakeprovider_harness.persistence.store import Claims

def slowly(path, missing_ok=False, unlink=Path.unlink):
    time.sleep(0.002 if path.suffix == ".lock" else 0)  # time for others to come between
    unlink(path, missing_ok)

Path.unlink = slowly
folder, rounds = Path(sys.argv[1]), 0
claims, inside = Claims(folder / "locks"), folder / "inside"
while rounds < 50:
    try:
        with claims.claim("r"):
            os.close(os.open(inside, os.O_CREAT | os.O_EXCL))  # fails if there are two owners
            inside.unlink()
            rounds += 1
    except RunBusy:
        pass
"""


def test_no_file_is_left_of_a_claim_that_is_over(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        folder = tmp_path / "runs.db.locks"
        with store.claim("a"), store.claim("b"):
            assert len({path.name for path in folder.iterdir()} - STANDING) == 2
            with pytest.raises(RunBusy, match="run 'a' is being run by another process"):
                store.claim("a").__enter__()
        assert {path.name for path in folder.iterdir()} <= STANDING
        with store.claim("a"):
            pass


def test_a_file_that_a_killed_process_left_goes_with_the_next_claim(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    with claims.claim("a"):
        (left,) = {path.name for path in tmp_path.iterdir()} - STANDING
    (tmp_path / left).touch()
    with claims.claim("a"):
        pass
    assert not (tmp_path / left).exists()


def test_processes_that_claim_at_the_same_time_are_never_both_owners(tmp_path: Path) -> None:
    """Though each of them removes the file that the others may just be opening."""
    command = [sys.executable, "-c", CLAIMANT, str(tmp_path)]
    racers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [racer.communicate(timeout=60)[1] for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0], said
