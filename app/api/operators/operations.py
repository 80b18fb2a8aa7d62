"""Health checks: the process answers, and it can serve."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from app.api.http.runtime import Wired
from app.api.schemas.windows import WarningItem
from app.postgres import migrate
from app.services.views import progress

router = APIRouter(tags=["operations"])


class Health(BaseModel):
    """A state in a word."""

    status: Literal["ok"] = "ok"


class ReceiptKeys(BaseModel):
    """Public Ed25519 keys."""

    keys: list[dict[str, str]]


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def healthz() -> Health:
    """Report liveness: the process answers. Does not check the database."""
    return Health()


@router.get("/.well-known/quire-keys")
async def get_receipt_keys(runtime: Wired) -> ReceiptKeys:
    """Get the public keys that receipts are signed with, the oldest first; each but the first is signed by the one
    before it.
    """
    return ReceiptKeys(keys=runtime.signer.document if runtime.signer else [])


class Readiness(Health):
    """Ready, possibly with warnings."""

    warnings: list[WarningItem]


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz")
async def readyz(runtime: Wired) -> Readiness:
    """Report readiness: the database answers and has the schema that this version expects, else 503.

    Warnings report background work that no worker does or that its provider rejects. Requests are served anyway.
    """
    migrate.require(await runtime.database.schema_revision())
    problems = await progress.work_warnings(runtime)
    return Readiness(warnings=[WarningItem(**warning) for warning in problems])
