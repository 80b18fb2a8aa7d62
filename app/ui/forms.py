"""Forms that pages send back: from this site only, and bounded."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request

from app import errors
from app.api.http.body import require_storable

FORM_MAX, TEXT_MAX = 8_192, 400_000
"""Bytes of a form, and of one with a text: an editable memory has up to 100 KB; a form writes a byte as three."""
FIELDS_MAX = 10


async def read_form(request: Request, bytes_max: int = FORM_MAX) -> dict[str, str]:
    """Return the fields of a form of this site. Raises Invalid and PayloadTooLarge."""
    require_own_form(request)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > bytes_max:
            raise errors.PayloadTooLarge("The form is too long.", headers={"Connection": "close"})
    text = body.decode("utf-8", "replace")
    try:
        fields = parse_qs(text, max_num_fields=FIELDS_MAX, keep_blank_values=True)
    except ValueError as error:
        raise errors.Invalid("The form has too many fields.") from error
    values = {name: given[0] for name, given in fields.items()}
    require_storable("body", **values)
    return values


def require_own_form(request: Request) -> None:
    """Reject forms of other sites, which could sign somebody in or out, or change and erase something.

    Browsers say where a form comes from: in Sec-Fetch-Site, or over plain HTTP in Origin alone.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        is_own = site in ("same-origin", "none")
    else:
        is_own = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    if not is_own:
        raise errors.Invalid("The form was not sent from this site.")
