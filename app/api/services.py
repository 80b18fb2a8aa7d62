"""How the routers get at the services."""

from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from app.services import Services


async def get_services(request: Request) -> Services:
    """The services of the app that serves this request. (FastAPI runs what is not async in a thread.)"""
    services: Services = request.app.state.services
    return services


Wired = Annotated[Services, Depends(get_services)]
