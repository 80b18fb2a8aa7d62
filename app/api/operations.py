"""Whether the process lives and whether it can serve."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from app import errors
from app.api.services import Wired

router = APIRouter(tags=["operations"])


class Health(BaseModel):
    """A state in a word."""

    status: Literal["ok"] = "ok"


@router.get("/healthz")
async def healthz() -> Health:
    """Liveness: the process answers. Says nothing about the database."""
    return Health()


@router.get("/readyz")
async def readyz(services: Wired) -> Health:
    """Readiness: the database answers and its schema is the one this version expects, else 503."""
    revision = await services.database.schema_revision()
    if revision != services.schema_head:
        raise errors.StorageUnavailable(
            f"The schema is at {revision or 'nothing'}, not at {services.schema_head}; run `quire migrate`."
        )
    return Health()
