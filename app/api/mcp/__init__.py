"""The recall tools over MCP."""
