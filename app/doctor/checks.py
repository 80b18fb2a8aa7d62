"""The doctor's checks: pure functions of what the probes found.

`fail` keeps Quire from serving or from keeping its promises; `warn` means that it works, but not as it should. Texts
name settings and commands, and contain no passwords, keys or message content.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from app.postgres.migrate import MIGRATE, fault
from app.queue.depths import UNCLAIMED_SECONDS, Depth

State = Literal["ok", "warn", "fail"]

POSTGRES_MIN = 140_000
"""In the form of `server_version_num`. The tests run on 18."""
VECTOR_MIN = (0, 7)
"""`sparsevec` came with it."""
SKEW_SECONDS = 2.0
FREE_BYTES_MIN = 1 << 30
REFUSED = "RefusedCaller"
"""In the error of a job whose lane rests: see ``jobs.policy``."""
GRANT = "As the tables' owner: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};\
 REVOKE INSERT, UPDATE, DELETE ON alembic_version FROM {role};"
ROLES = "Connect as the role quire_app of deploy/roles.sql."


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    state: State
    detail: str
    fix: str = ""
    """How to fix it; "" if there is nothing to fix."""


def worst(checks: Collection[Check]) -> State:
    states = {check.state for check in checks}
    return "fail" if "fail" in states else "warn" if "warn" in states else "ok"


def report(checks: Sequence[Check]) -> dict[str, Any]:
    return {"status": worst(checks), "checks": [asdict(check) for check in checks]}


# --- The database -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Properties of a PostgreSQL server and of the connected role."""

    version: int
    role: str
    is_superuser: bool
    bypasses_rls: bool
    fsync: str
    synchronous_commit: str
    full_page_writes: str
    encoding: str
    is_replica: bool
    connections_max: int
    vector: str | None
    """The extension's version in this database; None if it is not installed."""
    vector_available: str | None
    skew_seconds: float
    """Seconds that its clock is ahead of ours."""


def version(server: ServerFacts) -> Check:
    said = f"PostgreSQL {server.version // 10_000}.{server.version % 10_000} answers."
    if server.version < POSTGRES_MIN:
        return Check("database", "fail", said, f"Use PostgreSQL {POSTGRES_MIN // 10_000} or newer.")
    if server.encoding != "UTF8":
        fix = "Create the database with the encoding UTF8."
        return Check("database", "fail", f"The database's encoding is {server.encoding}.", fix)
    if server.is_replica:
        return Check("database", "fail", "The database is a read-only replica.", "Point DATABASE_URL at the primary.")
    return Check("database", "ok", said)


def role(server: ServerFacts) -> Check:
    powers = (("is a superuser", server.is_superuser), ("has BYPASSRLS", server.bypasses_rls))
    passes = [word for word, is_so in powers if is_so]
    if passes:
        said = f"The role {server.role} {' and '.join(passes)}: it bypasses tenant isolation."
        return Check("role", "fail", said, ROLES)
    return Check("role", "ok", f"The role {server.role} cannot bypass row-level security.")


def durability(server: ServerFacts) -> Check:
    switches = (("fsync", server.fsync), ("full_page_writes", server.full_page_writes))
    off = [name for name, value in switches if value == "off"]
    if off:
        said = f"{' and '.join(off)} is off: a crash can lose or damage acknowledged writes."
        return Check("durability", "fail", said, "Turn it on in postgresql.conf.")
    if server.synchronous_commit == "off":
        said = "synchronous_commit is off: a crash can lose the last acknowledged writes."
        return Check("durability", "warn", said, "ALTER ROLE quire_app SET synchronous_commit = on;")
    return Check("durability", "ok", f"fsync is on, synchronous_commit is {server.synchronous_commit}.")


def vector(server: ServerFacts) -> Check:
    if server.vector is None and server.vector_available is None:
        return Check("pgvector", "fail", "pgvector is not available on this server.", "Install pgvector on the server.")
    if server.vector is None:
        fix = "As superuser, in this database: CREATE EXTENSION vector;"
        return Check("pgvector", "fail", "The extension vector is not installed in this database.", fix)
    if _parts(server.vector) < VECTOR_MIN:
        fix = "Install a newer version, then run: ALTER EXTENSION vector UPDATE;"
        return Check("pgvector", "fail", f"pgvector is {server.vector}; Quire needs 0.7 or newer.", fix)
    if server.vector_available and _parts(server.vector) < _parts(server.vector_available):
        said = f"pgvector is {server.vector}; the server offers {server.vector_available}."
        return Check("pgvector", "warn", said, "As superuser: ALTER EXTENSION vector UPDATE;")
    return Check("pgvector", "ok", f"pgvector {server.vector}.")


def _parts(number: str) -> tuple[int, ...]:
    return tuple(int(part) for part in number.split(".") if part.isdecimal())


def clock(server: ServerFacts) -> Check:
    skew = server.skew_seconds
    if abs(skew) <= SKEW_SECONDS:
        return Check("clock", "ok", "The clocks of this machine and the database agree.")
    said = f"The database's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine's."
    return Check("clock", "warn", said, "Expiry uses both clocks. Run a time service on both machines.")


def connections(server: ServerFacts, pool_size: int) -> Check:
    each = pool_size + 1  # one looks for work
    if each > server.connections_max:
        said = f"A process uses {each} connections (QUIRE_POOL_SIZE + 1); max_connections is {server.connections_max}."
        return Check("connections", "warn", said, "Lower QUIRE_POOL_SIZE, or use PgBouncer.")
    said = f"Each process uses up to {each} (QUIRE_POOL_SIZE + 1); max_connections is {server.connections_max}."
    return Check("connections", "ok", said)


# --- The schema -------------------------------------------------------------------------------------


def migrations(found: str | None, wanted: str, known: Collection[str], *, embedded: bool) -> Check:
    """Check the schema's version. ``found``: None if the role cannot read it; ``known``: this version's migrations."""
    if found is None:
        said = "The role cannot read the tables: another role owns them, or they predate its default privileges."
        return Check("migrations", "fail", said, GRANT.format(role="quire_app"))
    if (wrong := fault(found, wanted, known)) is None:
        return Check("migrations", "ok", f"The schema is at {found}.")
    if embedded and wrong[1] == MIGRATE:
        return Check("migrations", "warn", wrong[0], "The next `quire serve` migrates it.")
    return Check("migrations", "fail", *wrong)


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    is_protected: bool
    """Row-level security is enabled and forced."""
    is_granted: bool
    """The role may read and write its rows."""


def protection(tables: Collection[Table]) -> Check:
    """Check that row-level security is forced on every tenant table."""
    open_ones = sorted(table.name for table in tables if not table.is_protected)
    if open_ones:
        said = f"Row-level security is not forced on: {', '.join(open_ones)}."
        fix = "Run ALTER TABLE … ENABLE ROW LEVEL SECURITY, then FORCE ROW LEVEL SECURITY."
        return Check("isolation", "fail", said, fix)
    return Check("isolation", "ok", f"Row-level security is forced on all {len(tables)} tables.")


def grants(tables: Collection[Table], role: str) -> Check:
    closed = sorted(table.name for table in tables if not table.is_granted)
    if closed:
        said = f"{role} cannot read and write: {', '.join(closed)}."
        return Check("grants", "fail", said, GRANT.format(role=role))
    return Check("grants", "ok", f"{role} can read and write every table.")


def placement(misplaced: Sequence[str]) -> Check:
    """Check that Citus distributes every table."""
    if misplaced:
        said = f"Citus does not distribute by tenant, or hold on every node: {', '.join(misplaced)}."
        return Check("distribution", "fail", said, MIGRATE)
    return Check("distribution", "ok", "Citus distributes every table by tenant.")


# --- Work -------------------------------------------------------------------------------------------


def jobs(lanes: Mapping[str, Depth], expired: int) -> Check:
    """Check the backlog. ``expired`` counts jobs with an expired lease that no worker has taken over."""
    unclaimed = sum(depth.unclaimed for depth in lanes.values())
    dead = sum(depth.dead for depth in lanes.values())
    ages = [depth.oldest_pending_seconds or 0.0 for depth in lanes.values() if depth.unclaimed]
    if unclaimed or expired:
        names = ", ".join(sorted(lane for lane, depth in lanes.items() if depth.unclaimed))
        parts = []
        if unclaimed:
            oldest = round(max(ages) / 60)
            parts.append(
                f"{unclaimed} jobs ({names}) have waited over {UNCLAIMED_SECONDS:.0f} s, the oldest for {oldest} min"
            )
        if expired:
            parts.append(f"{expired} are stale: their worker died and no other took them")
        errors = [depth.error for depth in lanes.values() if depth.unclaimed and depth.error]
        last = f" The last error: {errors[0]}." if errors else ""
        fix = "Start more `quire worker` processes. If one is running, check its log: the provider can be refusing it."
        return Check("workers", "warn", f"{'; '.join(parts)}.{last}", fix)
    pending, running = (sum(getattr(d, name) for d in lanes.values()) for name in ("pending", "running"))
    said = f"{pending} waiting, {running} running, none stale."
    refusing = [f"{lane}: {d.error}" for lane, d in sorted(lanes.items()) if d.error and REFUSED in d.error]
    if refusing:
        fix = "Correct the model's settings and restart the workers; the jobs then run by themselves."
        return Check("workers", "warn", f"{said} A lane rests ({'; '.join(refusing)}).", fix)
    if dead:
        fix = "See `quire jobs list`; retry with `quire jobs retry --all-dead`."
        return Check("workers", "warn", f"{said} {dead} failed for good.", fix)
    return Check("workers", "ok", said)


# --- Models -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DoctorQuestion:
    """Result of one short call to a model."""

    model: str
    seconds: float = 0.0
    dimensions: int = 0
    error: str | None = None
    is_refusal: bool = False
    """The provider rejects us; a person has to fix it."""


def chat(asked: DoctorQuestion | None) -> Check:
    """Check the chat model; None if none is configured."""
    if asked is None:
        said = "No chat model is configured: titles and summaries are extracted."
        fix = "To have a model write them, set MEMORY_LLM_MODEL, _BASE_URL and _API_KEY."
        return Check("chat model", "ok", said, fix)
    return _answered("chat model", asked, "MEMORY_LLM_MODEL, MEMORY_LLM_BASE_URL and MEMORY_LLM_API_KEY")


def embeddings(asked: DoctorQuestion | None, current: tuple[str, int] | None) -> Check:
    """Check the embedding model. ``current`` is the model and width of the stored vectors; None if there are none."""
    if asked is None:
        said = "No embedding model is in use: search is by keyword only."
        return Check("embeddings", "ok", said, "Unset MEMORY_EMBEDDING_MODEL to use the local model, or name another.")
    names = "MEMORY_EMBEDDING_MODEL, MEMORY_EMBEDDING_BASE_URL and MEMORY_EMBEDDING_API_KEY"
    if asked.error is not None:
        return _answered("embeddings", asked, names)
    if current is not None and current != (asked.model, asked.dimensions):
        was = f"{current[0]} ({current[1]} dimensions)"
        said = f"{asked.model} has {asked.dimensions} dimensions; stored vectors are from {was}."
        fix = "A worker re-embeds everything; until then search is by keyword where vectors are missing."
        return Check("embeddings", "warn", said, fix)
    return Check("embeddings", "ok", f"{asked.model} answered in {asked.seconds:.1f} s, {asked.dimensions} dimensions.")


def reranker(asked: DoctorQuestion) -> Check:
    return _answered("reranker", asked, "MEMORY_RERANK_MODEL, MEMORY_RERANK_BASE_URL and MEMORY_RERANK_API_KEY")


def _answered(name: str, asked: DoctorQuestion, settings: str) -> Check:
    if asked.error is None:
        return Check(name, "ok", f"{asked.model} answered in {asked.seconds:.1f} s.")
    said = f"{asked.model}: {asked.error}."
    if asked.is_refusal:
        return Check(name, "fail", said, f"Check {settings}.")
    return Check(name, "warn", said, f"Quire continues without it and retries. If this persists, check {settings}.")


def weights(reason: str | None) -> Check:
    """Check the local embedding model; ``reason`` tells why its weights cannot be used."""
    if reason is None:
        return Check("local model", "ok", "The weights of the local embedding model are intact (SHA-256).")
    fix = "Reinstall the pinned requirements, configure an embedding API, or set MEMORY_EMBEDDING_MODEL=none."
    return Check("local model", "warn", f"No local embeddings: {reason}. Search is by keyword only.", fix)


def vocabulary(state: Literal["whole", "absent", "damaged", "unpackable"], *, writable: bool) -> Check:
    """Check the tokenizer. ``unpackable``: the installed package lacks the expected vocabulary."""
    if state == "whole":
        return Check("tokenizer", "ok", "The vocabulary is unpacked and intact; no network is needed.")
    if state == "unpackable":
        return Check("tokenizer", "fail", "The vocabulary cannot be found.", "Reinstall the pinned requirements.")
    if not writable:
        said = f"The vocabulary is {state}, and QUIRE_DATA_DIR is not writable."
        return Check("tokenizer", "fail", said, "Make QUIRE_DATA_DIR writable once.")
    return Check("tokenizer", "ok", f"The vocabulary is {state}; the next start unpacks it without a network.")


# --- This machine -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Folder:
    path: str
    exists: bool
    is_writable: bool
    """Return whether the folder, or its future parent, is writable."""
    is_open_to_all: bool
    """Everybody on this machine may write into it."""
    free_bytes: int


def data_dir(folder: Folder, *, embedded: bool, is_root: bool) -> Check:
    """Check the data directory; it holds everything if the database is ``embedded``, and next to nothing otherwise."""
    if not folder.is_writable:
        state: State = "fail" if embedded else "warn"
        said = f"{folder.path} cannot be {'written' if folder.exists else 'created'}."
        return Check("data directory", state, said, "Set another QUIRE_DATA_DIR, or change its owner.")
    if folder.is_open_to_all:
        said = f"Every user of this machine can write to {folder.path}."
        return Check("data directory", "warn", said, f"chmod o-w {folder.path}")
    if embedded and folder.free_bytes < FREE_BYTES_MIN:
        said = f"Only {folder.free_bytes >> 20} MiB are free at {folder.path}."
        return Check("data directory", "warn", said, "Free some space: the database stops when the disk is full.")
    if embedded and is_root:
        said = f"Quire runs as root with its database in {folder.path}."
        return Check("data directory", "warn", said, "Run Quire as a dedicated user.")
    return Check("data directory", "ok", f"{folder.path} {'is writable' if folder.exists else 'can be created'}.")


def door(host: str, *, is_loopback: bool, is_keyed: bool, requires_keys: bool, is_allowed: bool) -> Check:
    """Check who has access at the listening address."""
    if is_keyed:
        return Check("door", "ok", "Every caller needs an API key or a token.")
    if requires_keys:
        said = "Every caller needs an API key, and none exists yet."
        return Check("door", "warn", said, "Create one with `quire keys create`.")
    if is_loopback:
        said = f"No keys: anyone on this machine has full access; other machines have none ({host})."
        return Check("door", "ok", said)
    if is_allowed:
        said = f"No keys: anyone who reaches {host} has full access (QUIRE_ALLOW_UNAUTHENTICATED)."
        return Check("door", "warn", said, "Make sure that a proxy in front authenticates callers, or create a key.")
    said = f"Other machines can reach {host} and there are no keys: `quire serve` refuses to start."
    fix = "Run `quire keys create`, set QUIRE_REQUIRE_KEYS=true, or listen on 127.0.0.1."
    return Check("door", "fail", said, fix)


Port = Literal["free", "any", "quire", "other", "forbidden", "nowhere"]


def settings(misspelt: Mapping[str, str]) -> Check:
    if not misspelt:
        return Check("settings", "ok", "No variable looks like a misspelt setting.")
    detail = f"These variables are not settings and have no effect: {', '.join(misspelt)}."
    return Check("settings", "warn", detail, f"Did you mean {', '.join(misspelt.values())}?")


def port(found: Port, host: str, number: int) -> Check:
    where = f"{host}:{number}"
    match found:
        case "free":
            return Check("port", "ok", f"{where} is free.")
        case "any":
            return Check("port", "ok", "Quire picks a free port (QUIRE_PORT=0).")
        case "quire":
            return Check("port", "ok", f"Quire is running at {where}.")
        case "other":
            return Check("port", "fail", f"Another program listens at {where}.", "Stop it, or set another QUIRE_PORT.")
        case "forbidden":
            return Check("port", "fail", f"No permission to listen at {where}.", "Set QUIRE_PORT to 1024 or higher.")
        case "nowhere":
            return Check("port", "fail", f"This machine has no address {host}.", "Set another QUIRE_HOST.")


def running(warned: Sequence[str]) -> Check:
    """Report what the Quire that is running warns of at /readyz."""
    fix = "Check the settings of the model that it names; the sections of the models ask each once."
    return Check("running service", "warn", f"It warns: {'; '.join(warned)}.", fix)


def early_end(line: str) -> Check:
    """Report a recovery that ended at a damaged record of the log; ``line`` is the server's."""
    said = f"PostgreSQL ended a recovery at a damaged record, and what was written after it is lost: {line.strip()}"
    return Check("recovery", "fail", said, "Check the disk and the memory. Restore a backup if writes are missing.")
