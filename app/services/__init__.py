"""The main paths through Quire, each a straight line: gather values, decide (in core), apply.

They own what spans several nouns of the store; the HTTP routers translate to and from them.
"""
