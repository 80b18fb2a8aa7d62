"""The inspector at /ui: what a model would see, and why.

HTML pages over the same services as the API, in Chinese and English. Everything that users, tools and models wrote is
treated as data: escaped by the templates, isolated from its surroundings (`bdi`, `dir="auto"`), under a
Content-Security-Policy that runs and loads only what Quire itself serves.
"""
