"""Coverage-guided fuzzing of the parsers, by atheris: `python -m tests.fuzz.parsers --seconds 600 [--target …]`.

The time is shared by the targets, each in a process of its own, which begins with the corpus kept here. An input that a
target refuses is printed and kept as `tests/fuzz/corpus/TARGET/found-…`, where the tests run it from then on.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
INPUT_MAX = 4096
OPTIONS = (f"-max_len={INPUT_MAX}", "-timeout=20", "-rss_limit_mb=3000", "-print_final_stats=1", "-verbosity=0")
INSTRUMENTED = ["app.api", "app.core", "app.providers", "app.recall", "app.services"]


def fuzz(name: str, seconds: int) -> tuple[bool, str]:
    """Fuzz one target in a process. Return whether it held, and what the fuzzer said."""
    kept = CORPUS / name
    with tempfile.TemporaryDirectory(prefix="quire-fuzz-") as grown:
        shutil.copytree(kept, grown, dirs_exist_ok=True)
        command = [sys.executable, "-m", "tests.fuzz.parsers", "--inside", name, grown]
        options = (*OPTIONS, f"-max_total_time={seconds}", f"-artifact_prefix={kept}/found-")
        done = subprocess.run(
            [*command, *options], capture_output=True, text=True, check=False, errors="replace",
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )  # fmt: skip
    return done.returncode == 0, done.stdout + done.stderr


def inside(name: str, arguments: list[str]) -> None:
    """Be the fuzzer of one target; does not return."""
    import atheris  # noqa: PLC0415 - installed by `make fuzz` alone

    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.fuzz import targets  # noqa: PLC0415 - instruments what it imports
    target = targets.BY_NAME[name]

    def check(data: bytes) -> None:
        targets.run(target, data)

    atheris.Setup([sys.argv[0], *arguments], check)
    atheris.Fuzz()


def summary(said: str) -> str:
    stats = dict(line[6:].split(":") for line in said.splitlines() if line.startswith("stat::"))
    return f"{int(stats.get('number_of_executed_units', 0)):,} inputs"


def main() -> None:
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], sys.argv[3:])
    parser = ArgumentParser(prog="python -m tests.fuzz.parsers", description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="of all targets together")
    parser.add_argument("--target", action="append", help="a folder of tests/fuzz/corpus; all by default")
    asked = parser.parse_args()
    names = asked.target or sorted(folder.name for folder in CORPUS.iterdir())
    failed = 0
    for name in names:
        held, said = fuzz(name, max(1, asked.seconds // len(names)))
        failed += not held
        print(f"{name}: {summary(said)}{'' if held else ' - FAILED' + said[-3000:]}", flush=True)  # noqa: T201
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
