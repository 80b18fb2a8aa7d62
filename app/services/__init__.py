"""The main paths through Quire, each a straight line: gather values, decide (in core), apply.

Services combine several nouns of the store; HTTP routers translate requests and responses.
"""
