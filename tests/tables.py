"""The tables that the migrations make, each after those that it refers to."""

from __future__ import annotations

import re

from app.postgres import migrate

_MIGRATIONS = "".join(file.read_text("utf-8") for file in sorted((migrate.SCRIPTS / "versions").glob("*.py")))
TABLES = tuple(re.findall(r"op\.create_table\(\s*'(\w+)'", _MIGRATIONS))
COLUMNS = len(re.findall(r"sa\.Column\(", _MIGRATIONS)) - len(re.findall(r"op\.drop_column\(", _MIGRATIONS))
