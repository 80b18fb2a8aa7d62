"""The inspector at /ui: what a model would see, and why.

Pages of HTML over the flows that the API uses, in Chinese and English. Everything that users, tools and models
wrote is data: escaped by the templates, held apart from its surroundings (`bdi`, `dir="auto"`), and with a
Content-Security-Policy that runs nothing and loads nothing but what Quire itself serves.
"""
