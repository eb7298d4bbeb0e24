"""The same program gives the same bytes: twice in a process, and in processes that hash differently."""

import os
import subprocess
import sys

import exported_bytes


def digests_in_a_process(seed: str) -> dict[str, str]:
    """Returns the digests that a new process gives, whose sets and dicts of strings come in another order."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, exported_bytes.__file__], env=environment, capture_output=True, text=True, check=True
    )
    return dict(line.split(": ") for line in done.stdout.splitlines())


def test_a_program_gives_the_same_bytes_twice_in_a_process() -> None:
    first, second = exported_bytes.digests(), exported_bytes.digests()
    assert first == second
    assert len({*first.values()}) == len(first)


def test_a_program_gives_the_same_bytes_whatever_strings_hash_to() -> None:
    first, second = map(digests_in_a_process, ("1", "2"))
    assert first == second
    assert len(first) == 4
