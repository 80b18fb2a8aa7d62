"""`quire doctor`: check whether a deployment works, and tell how to fix what does not.

`probes.py` collects facts and decides nothing; `checks.py` judges them and does no I/O; `examine.py` runs them in order
and skips what depends on something broken. `walk.py` and `damage.py` do the same for the whole store (`--deep`).
"""
