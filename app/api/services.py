"""What the composition root built, as the routers get at it."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from app.db import Database
from app.settings import Settings
from app.tokens import TokenCounter


@dataclass(frozen=True)
class Services:
    """Built once at start; lives as long as the app."""

    settings: Settings
    database: Database
    tokens: TokenCounter
    schema_head: str


def get_services(request: Request) -> Services:
    """The services of the app that serves this request."""
    services: Services = request.app.state.services
    return services


Wired = Annotated[Services, Depends(get_services)]
