"""`quire doctor`: whether a deployment can do what it is for, and how to mend what it cannot.

`probes.py` finds out and decides nothing; `checks.py` judges what was found and touches nothing; `examine.py` goes
through them in order, leaving out what cannot be known where something before it is broken.
"""
