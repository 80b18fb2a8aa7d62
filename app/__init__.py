"""Quire: memory as a service for LLM agents."""
