"""How the routers get at the services."""

from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from app.services import Services


def services_of(request: Request) -> Services:
    """The services of the app that serves this request."""
    services: Services = request.app.state.services
    return services


async def _services(request: Request) -> Services:  # FastAPI runs what is not async in a thread
    return services_of(request)


Wired = Annotated[Services, Depends(_services)]
