"""Chat requests that pass through Quire to a model's API."""
