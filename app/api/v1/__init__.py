"""The APIs of models, served in front of a model."""
