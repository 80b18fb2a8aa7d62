"""What a search looks at to raise a message's score by the turns around it, and by what a query names.

See ``core/search/relevance.py``, and the piece ``lifting`` of ``search_statement.sql``.
"""

LOOKED_AT, LOOKED_AT_EACH = 300, 6
"""The best memories before neighbours count, and more for each requested one: a memory below all of these is not lifted
into the results.
"""
SILENT_MAX = 60
"""The best memories, of those that are requested, whose neighbours join them without a word of the query. Neighbours
earn less than these have, so those of the others would not be among the results.
"""
ALL_WORDS = 0.6
"""The coverage of a memory that has all of the query's words, however long it is. It is what the words ask for, and its
neighbours need not join it.
"""
ARCHIVE_PASSAGES = 3
"""Passages of one archive among the results: a log that has the query's words everywhere would fill them."""
