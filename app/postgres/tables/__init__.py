"""Every table, constraint and index.

The rules they share:

* ``tenant_id`` leads every primary key, unique key, foreign key and index, so that any table can be
  distributed by it, and row-level security is forced on all of them (see the migrations).
* Callers' content is text: the exact canonical JSON of the message. ``jsonb`` would reorder keys and refuse NUL.
* What a head quotes is append-only and stamped with the conversation's ``revision``, so that the head of an
  epoch can be found again as it was, by any process and for any budget.
"""

from app.postgres.tables import conversations, memories, operations
from app.postgres.tables.base import metadata

__all__ = ["conversations", "memories", "metadata", "operations"]
