"""A service with a played model behind its proxy."""

from tests.proxy.conftest import always, api, base_url, proxy_settings, script

__all__ = ["always", "api", "base_url", "proxy_settings", "script"]
