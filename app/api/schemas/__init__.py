"""Models of requests and responses, for validation and for the OpenAPI document.

Responses are rendered as text elsewhere; these models describe them.
"""
