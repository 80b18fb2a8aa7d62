"""Read what other tools store, and write it as the lines that `POST /import` takes."""
