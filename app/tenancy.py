"""Which tenants there are."""

from uuid import UUID

DEFAULT_TENANT = UUID("00000000-0000-7000-8000-000000000001")
"""The one tenant of a deployment without keys."""

TENANTS = (DEFAULT_TENANT,)
