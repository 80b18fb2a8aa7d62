"""Statements of the proxy: whose list a conversation ends like, and what models refused."""
