"""`python -m app` is `quire`."""

from app.cli import main

main(prog_name="quire")
