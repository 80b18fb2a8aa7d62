"""The edge: callers, credentials, hosts, rates, hooks, imports."""
