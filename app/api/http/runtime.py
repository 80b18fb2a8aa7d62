"""Give the routers access to the services."""

from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from app.runtime import Runtime


def runtime_of(request: Request) -> Runtime:
    runtime: Runtime = request.app.state.runtime
    return runtime


async def _services(request: Request) -> Runtime:  # FastAPI runs functions that are not async in a thread
    return runtime_of(request)


Wired = Annotated[Runtime, Depends(_services)]
