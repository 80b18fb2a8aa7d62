"""Prompts for models, in files: ``name.language.md``."""

from functools import cache
from importlib.resources import files

from app.core.model import Language


@cache
def prompt(name: str, language: Language) -> str:
    return (files("app.prompts") / f"{name}.{language}.md").read_text("utf-8").strip()
