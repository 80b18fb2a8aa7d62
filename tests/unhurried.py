"""Single requests that leave a busy machine the time it needs; httpx gives up after 5 seconds."""

from functools import partial

import httpx

SECONDS = 30

get = partial(httpx.get, timeout=SECONDS)
post = partial(httpx.post, timeout=SECONDS)
delete = partial(httpx.delete, timeout=SECONDS)
