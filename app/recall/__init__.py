"""The tools a model recalls with."""
