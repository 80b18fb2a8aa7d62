"""The command `quire`. Composition root."""

import asyncio
import ipaddress
import json
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar
from uuid import UUID

import click
import uvicorn
from fastapi import FastAPI
from pydantic import ValidationError

from app import errors, worker
from app.api.body import parse_model
from app.api.deadlines import impatient
from app.api.keys import checked
from app.api.schemas import KeyBody
from app.cli import transfer
from app.core.caller import SCOPES, Caller
from app.demo.command import demo
from app.doctor.examine import examine
from app.doctor.verdicts import Check, report, worst
from app.ids import uuid7
from app.main import OPERATIONS, create_app, freeze_gc, runtime_of
from app.postgres import embedded, migrate
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT, is_keyed, tenants
from app.queue import table
from app.services import keys
from app.services.lifecycle import retention
from app.settings import Settings
from app.signals import Stopping, stop_on_signals
from app.store import keys as stored_keys
from app.telemetry import logs

GRACEFUL_SECONDS = 5
RETRIED_AT_ONCE = 1000
WELCOME = """\
Quire is up. Its API, to read and to try: {url}/docs

Store a message (the conversation is made with it):

  curl -s -X POST {url}/conversations/demo/messages -H 'content-type: application/json'{header} \
-d '{{"user_id":"me","messages":[{{"role":"user","content":"Hello"}}]}}'

Then fetch the context window for the next model call:

  curl -s '{url}/conversations/demo/context?budget=8000'{header}

{door}
What a model would see, and why: {url}/ui

Ctrl-C stops it. {where}
"""
WORKER_UP = "The worker is up. Ctrl-C stops it."
WORKER_WELCOME = f"{WORKER_UP} Its state: {{url}}/healthz, {{url}}/readyz, {{url}}/metrics"
KEY_HEADER = ' -H "Authorization: Bearer $QUIRE_KEY"'
KEYS_NEEDED = "Every request needs an API key; `quire keys create` makes one."
NO_KEYS = "There are no API keys: whoever reaches this address may do everything. `quire keys create` ends that."


@click.group()
def main() -> None:
    """Quire: memory as a service for LLM agents. Settings are environment variables."""


@main.command()
def serve() -> None:
    """Serve the API and do its jobs in one process, with a database of its own unless DATABASE_URL is set."""
    settings = _settings()
    with stop_on_signals() as stopping, _database(settings, stopping) as dsn:
        needs_key = _needs_key(settings, dsn, stopping)
        app = create_app(settings, dsn, with_worker=settings.quire_worker)
        server = Server(app, settings, settings.quire_port, partial(_welcome, settings, needs_key))
        _run(server, stopping)


@main.command(name="worker")
def work() -> None:
    """Do the jobs only. As many of these as you like may run beside `quire serve`, anywhere.

    With QUIRE_WORKER_PORT it answers /healthz, /readyz and /metrics there.
    """
    settings = _settings()
    with stop_on_signals() as stopping, _database(settings, stopping) as dsn, _errors_in_words():
        if settings.quire_worker_port is None:
            stopping.run(_work(settings, dsn, stopping))
            return
        _needs_key(settings, dsn, stopping)
        app = create_app(settings, dsn, with_worker=True, routers=OPERATIONS)
        server = Server(app, settings, settings.quire_worker_port, WORKER_WELCOME.format)
        _run(server, stopping)


@main.command(name="migrate")
def bring_up_to_date() -> None:
    """Bring the schema to the newest version, as the role in MIGRATION_DATABASE_URL."""
    settings = _settings()
    dsn = settings.migration_database_url or settings.database_url
    with stop_on_signals() as stopping:
        if dsn is None:
            with _database(settings, stopping):
                pass
        else:
            _upgrade(dsn, stopping)
    click.echo(f"The schema is at {migrate.head() or 'its beginning'}.")


@main.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--skip-models", is_flag=True, help="Do not ask the models anything, which may cost a few tokens.")
def doctor(*, as_json: bool, skip_models: bool) -> None:
    """Look whether everything is as it should be, and say how to mend what is not.

    Exit code 1 if something keeps Quire from working; warnings do not.
    """
    settings = _settings()
    logs.set_up("error", settings.quire_log_format)  # what would be logged is said below
    with stop_on_signals() as stopping:
        is_loopback = _is_loopback(settings.quire_host)
        checks = examine(settings, stopping, is_loopback=is_loopback, asks_models=not skip_models)
    click.echo(json.dumps(report(checks), indent=2, ensure_ascii=False) if as_json else _listing(checks))
    if worst(checks) == "fail":
        raise SystemExit(1)


def _listing(checks: Sequence[Check]) -> str:
    lines = []
    for check in checks:
        state = click.style(f"{check.state:<6}", fg=STATE_COLOURS[check.state])
        lines.append(f"{state}{check.name:<16}{check.detail}")
        lines += [f"{'':<22}{check.mend}"] if check.mend else []
    return "\n".join(lines)


STATE_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@main.group()
def jobs() -> None:
    """Look at background work, and try again what failed for good."""


@jobs.command(name="list")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Dead letters to show.")
def list_jobs(limit: int) -> None:
    """Say how much work there is, and what failed for good."""
    click.echo(_ask(lambda database: _listed(database, limit)))


@jobs.command(name="retry")
@click.argument("job", required=False, type=click.UUID)
@click.option("--all-dead", is_flag=True, help="Every dead letter.")
def retry_jobs(job: UUID | None, all_dead: bool) -> None:
    """Try the dead letter JOB again, or all of them."""
    if (job is None) != all_dead:
        raise click.UsageError("Name a job, or say --all-dead.")
    count = _ask(lambda database: _revived(database, job))
    if job is not None and not count:
        raise click.ClickException("There is no such dead letter.")
    click.echo(f"{count} to be tried again.")


T = TypeVar("T")


def _ask(question: Callable[[Database], Awaitable[T]]) -> T:
    """The answer of the database, which another process may be serving from."""
    settings = _settings()

    async def ask(dsn: str) -> T:
        database = await Database.connect(dsn, pool_size=1, statement_cache=settings.quire_statement_cache)
        try:
            return await question(database)
        finally:
            await database.close()

    with stop_on_signals() as stopping, _database(settings, stopping) as dsn, _errors_in_words():
        return stopping.run(ask(dsn))


async def _listed(database: Database, limit: int) -> str:
    lines = []
    for tenant in await tenants(database):
        async with database.snapshot(tenant) as connection:
            lanes = await table.depth(connection, tenant)
            dead = await table.dead_letters(connection, tenant, None, limit)
        lines += [f"{lane}: {d.pending} pending, {d.running} running, {d.dead} dead" for lane, d in lanes.items()]
        lines += [
            f"{row['id']}  {row['kind']}  {row['conversation_id'] or '-'}  attempt {row['attempts']}  {row['error']}"
            for row in dead
        ]
    return "\n".join(lines) or "There is no work."


async def _revived(database: Database, job: UUID | None) -> int:
    """How many dead letters were brought back: one, or all in steps of a thousand."""
    total = 0
    for tenant in await tenants(database):
        some = 1
        while some:
            async with database.begin(tenant) as connection:
                some = await (
                    table.retry_some(connection, tenant, RETRIED_AT_ONCE)
                    if job is None
                    else table.revive(connection, tenant, job)
                )
            total += some
    return total


@main.command(name="retention")
@click.option("--dry-run", is_flag=True, help="Only count.")
def retain(*, dry_run: bool) -> None:
    """Erase and prune what the settings say is past its time. The worker does it every minute."""
    settings = _settings()
    with stop_on_signals() as stopping, _database(settings, stopping) as dsn, _errors_in_words():
        click.echo(json.dumps(stopping.run(_retain(settings, dsn, dry_run=dry_run)), sort_keys=True))


async def _retain(settings: Settings, dsn: str, *, dry_run: bool) -> dict[str, int]:
    done: Counter[str] = Counter(conversations=0, pruned=0)
    async with runtime_of(settings, dsn) as runtime:
        for tenant in await tenants(runtime.database):
            done.update(await retention.retain(runtime, tenant, dry_run=dry_run))
    return dict(done)


@main.command(name="openapi")
def describe() -> None:
    """Print the API's OpenAPI document."""
    document = create_app(Settings(), "").openapi()
    click.echo(json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False))


for command in (demo, transfer.import_file, transfer.export):
    main.add_command(command)

OfTenant = click.option("--tenant", default=None, help="Its name or id; the default one if left out.")


@main.group(name="keys")
def of_keys() -> None:
    """Who may do what. The service may run meanwhile or not."""


@of_keys.command(name="create")
@click.option("--name", default="key", show_default=True, help="To tell it from others.")
@click.option(
    "--scope", "scopes", multiple=True, default=("read", "write"), show_default=True, type=click.Choice(SCOPES)
)
@click.option("--user", default=None, help="The one user that it is to see; all of them if left out.")
@click.option(
    "--days", type=click.IntRange(1, 36_500), default=None, help="How long it is valid; for ever if left out."
)
@OfTenant
def create_key(name: str, scopes: tuple[str, ...], user: str | None, days: int | None, tenant: str | None) -> None:
    """Make a key and print it. It cannot be shown again.

    From the first key on, the service asks every caller for one.
    """
    until = datetime.now(UTC) + timedelta(days=days) if days else None

    async def work(database: Database) -> None:
        body = parse_model(KeyBody, {"name": name, "scopes": list(scopes), "user_id": user, "expires_at": until})
        caller = Caller(await _tenant(database, tenant))
        first = not await is_keyed(database)
        async with database.begin(caller.tenant) as connection:
            _, made = await keys.make(connection, caller, checked(body))
        if first:
            await asyncio.sleep(keys.OPEN_SECONDS)
        click.echo(made.reveal())

    _on_database(work)


@of_keys.command(name="list")
@OfTenant
def list_keys(tenant: str | None) -> None:
    """Every key of a tenant, the newest first."""

    async def work(database: Database) -> None:
        found = await _tenant(database, tenant)
        after: UUID | None = None
        while True:
            async with database.snapshot(found) as connection:
                rows = await stored_keys.browse(connection, found, None, after, LISTED_AT_ONCE)
            for view in map(keys.view, rows):
                times = [f"{what} {view[at]}" for what, at in KEY_TIMES if view[at]]
                whose = f"user {view['user_id']}" if view["user_id"] is not None else "all users"
                click.echo("  ".join([view["prefix"], view["name"], ",".join(view["scopes"]), whose, *times]))
            if len(rows) < LISTED_AT_ONCE:
                return
            after = rows[-1]["id"]

    _on_database(work)


KEY_TIMES = (("expires", "expires_at"), ("revoked", "revoked_at"), ("last used", "last_used_at"))
LISTED_AT_ONCE = 200


@of_keys.command(name="revoke")
@click.argument("key")
def revoke_key(key: str) -> None:
    """Let nobody in with KEY any more: what `quire keys list` shows first, or the whole key."""

    async def work(database: Database) -> None:
        parts = key.split("_")
        try:
            tenant, wanted = UUID(hex=parts[1]), UUID(hex=parts[2])
        except (IndexError, ValueError):
            raise click.ClickException("KEY begins with qk_, as `quire keys list` shows it.") from None
        async with database.begin(tenant) as connection:
            view = await keys.revoke(connection, Caller(tenant), wanted)
        click.echo(f"{view['prefix']} lets nobody in since {view['revoked_at']}.")

    _on_database(work)


@main.group(name="tenants")
def of_tenants() -> None:
    """Who shares nothing with whom. A key belongs to one tenant."""


@of_tenants.command(name="create")
@click.argument("name")
def create_tenant(name: str) -> None:
    """Make a tenant and print its id."""

    async def work(database: Database) -> None:
        if not name.strip() or not name.isprintable() or len(name) > 200:
            raise click.ClickException("A tenant's name is 1 to 200 characters that can be printed.")
        if any(row["name"] == name for row in await stored_keys.all_tenants(database)):
            raise click.ClickException("There is a tenant of this name already.")
        tenant = uuid7()
        async with database.begin(tenant) as connection:
            await stored_keys.create_tenant(connection, tenant, name)
        click.echo(str(tenant))

    _on_database(work)


@of_tenants.command(name="list")
def list_tenants() -> None:
    """Every tenant: its id and name, and since when it has keys."""

    async def work(database: Database) -> None:
        for row in await stored_keys.all_tenants(database):
            since = f"  keys since {row['keyed_at']:%Y-%m-%d}" if row["keyed_at"] else ""
            click.echo(f"{row['tenant_id']}  {row['name']}{since}")

    _on_database(work)


async def _tenant(database: Database, wanted: str | None) -> UUID:
    """Raises ClickException where no tenant, or more than one, is meant."""
    if wanted is None:
        return DEFAULT_TENANT
    rows = await stored_keys.all_tenants(database)
    found: set[UUID] = {row["tenant_id"] for row in rows if wanted in (row["name"], str(row["tenant_id"]))}
    if len(found) != 1:
        raise click.ClickException(f"{len(found)} tenants are called {wanted!r}; `quire tenants list` shows them all.")
    return found.pop()


def _on_database(work: Callable[[Database], Awaitable[None]]) -> None:
    """Do something on the database that the settings name, beside a service or without one."""

    async def run(dsn: str) -> None:
        async with _connected(settings, dsn) as database:
            await work(database)

    settings = _settings()
    with stop_on_signals() as stopping, _database(settings, stopping) as dsn, _errors_in_words():
        stopping.run(run(dsn))


def _settings() -> Settings:
    try:
        settings = Settings()
    except ValidationError as error:
        wrong = "\n".join(f"  {str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors())
        raise click.ClickException(f"These settings are not valid:\n{wrong}") from None
    logs.set_up(settings.quire_log_level, settings.quire_log_format)
    return settings


def _refuse_open_door(settings: Settings, *, needs_key: bool) -> None:
    """Without keys, whoever reaches the port reads and erases everything."""
    if not needs_key and not _is_loopback(settings.quire_host) and not settings.quire_allow_unauthenticated:
        raise click.ClickException(
            f"QUIRE_HOST={settings.quire_host} can be reached from other machines and there are no API keys."
            " Make one with `quire keys create`, set QUIRE_REQUIRE_KEYS=true, listen on 127.0.0.1, or set"
            " QUIRE_ALLOW_UNAUTHENTICATED=true if something in front checks callers."
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def _database(settings: Settings, stopping: Stopping) -> Iterator[str]:
    """The DSN to serve from: DATABASE_URL as it is, or an embedded server, migrated and stopped at the end."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    try:
        postgres = embedded.start(settings.quire_data_dir)
    except (embedded.EmbeddedPostgresError, OSError) as error:
        raise click.ClickException(f"The embedded PostgreSQL could not be started. {error}") from error
    try:
        _upgrade(postgres.owner_dsn, stopping)
        yield postgres.app_dsn
    finally:
        postgres.stop()


def _upgrade(owner_dsn: str, stopping: Stopping) -> None:
    try:
        migrate.upgrade(owner_dsn, stopping.run)
    except OSError as error:
        raise click.ClickException(f"The database cannot be reached: {error}") from error


def _needs_key(settings: Settings, dsn: str, stopping: Stopping) -> bool:
    """Whether callers do. Raises ClickException for a database that is not safe, or a door that would be open."""
    with _errors_in_words():
        needs_key = stopping.run(_require_safe_database(settings, dsn)) or settings.quire_require_keys
    _refuse_open_door(settings, needs_key=needs_key)
    return needs_key


class Server(uvicorn.Server):
    """uvicorn that says hello once it listens: what ``hello`` makes of its URL."""

    def __init__(self, app: FastAPI, settings: Settings, port: int, hello: Callable[..., str]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                host=settings.quire_host,
                port=port,
                loop="uvloop",
                http=impatient(
                    settings.quire_header_seconds, settings.quire_body_seconds, settings.quire_reading_seconds
                ),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACEFUL_SECONDS,
            )
        )
        self._hello = hello
        # Made now: it takes a quarter of a second, for which the first to ask would make all others wait.
        app.openapi()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts listening; with port 0 only now the port is known."""
        await super().startup(sockets)
        if not self.started:
            return
        freeze_gc()
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        click.echo(self._hello(url=f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"))


def _welcome(settings: Settings, needs_key: bool, *, url: str) -> str:
    where = f"The data is in {settings.quire_data_dir}." if settings.database_url is None else ""
    header, door = (KEY_HEADER, KEYS_NEEDED) if needs_key else ("", NO_KEYS)
    return WELCOME.format(url=url, where=where, header=header, door=door)


async def _require_safe_database(settings: Settings, dsn: str) -> bool:
    """Asked before uvicorn starts, which could only answer with a traceback. Whether callers need a key."""
    async with _connected(settings, dsn) as database:
        try:
            return await is_keyed(database)
        except errors.StorageUnavailable:  # the schema is not there yet: /readyz says so
            return False


@asynccontextmanager
async def _connected(settings: Settings, dsn: str) -> AsyncIterator[Database]:
    """A connection for a command. Raises UnsafeDatabase or StorageUnavailable."""
    database = await Database.connect(dsn, pool_size=1, statement_cache=settings.quire_statement_cache)
    try:
        await database.assert_role_is_safe()
        yield database
    finally:
        await database.close()


def _run(server: uvicorn.Server, stopping: Stopping) -> None:
    """Uvicorn handles SIGINT and SIGTERM itself while it serves, and raises them again afterwards."""

    def stop() -> None:
        server.should_exit = True

    stopping.check()
    with stopping.telling(stop):
        server.run()


async def _work(settings: Settings, dsn: str, stopping: Stopping) -> None:
    stop = asyncio.Event()
    async with runtime_of(settings, dsn) as runtime:
        freeze_gc()
        click.echo(WORKER_UP)
        loop = asyncio.get_running_loop()
        with stopping.telling(lambda: loop.call_soon_threadsafe(stop.set)):
            await worker.run(runtime, stop)


@contextmanager
def _errors_in_words() -> Iterator[None]:
    try:
        yield
    except errors.QuireError as error:
        more = "".join(f"\n  {'.'.join(str(p) for p in e['loc'] if p != 'body')}: {e['msg']}" for e in error.errors)
        raise click.ClickException(error.detail + more) from error
