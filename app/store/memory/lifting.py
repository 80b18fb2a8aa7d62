"""Raise a message's score by the turns around it, and by what a query names: a part of the search statement.

See ``core/search/relevance.py``. It reads ``scored`` (id, coverage, score) and makes ``every`` (id, coverage, own,
score).
"""

from app.core.search.relevance import AROUND, AROUND_TURNS, DIALOGUE_MESSAGES_A_PAGE, NEIGHBOUR, NEXT_BUT_ONE, SPOKEN
from app.text.bm25 import ASKING

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

IN_CONVERSATION = "($4::uuid IS NULL OR conversation_uid = $4)"
FITS = f"""(expires_at IS NULL OR expires_at > now())
                  AND {IN_CONVERSATION}
                  AND ($5::text[] IS NULL OR type = ANY ($5))
                  AND ($6::uuid[] IS NULL OR archive_id = ANY ($6) OR id = ANY ($6))
                  AND ($8::text IS NULL OR (terms <#> $8::text::sparsevec) < 0)
                  AND ($9::uuid IS NULL OR id >= $9)
                  AND ($10::uuid IS NULL OR id < $10)
                  AND ($15::boolean OR NOT sensitive)"""
"""Whether a memory can be found."""
_TALK = f"seq > {DIALOGUE_MESSAGES_A_PAGE}::float8 * page"
_ASKING = f"-(terms <#> '{ASKING}'::sparsevec) AS asking"

# The turns around the best that have no word of the query. A vector would have brought them among the scored.
_SILENT = f"""silent AS MATERIALIZED (
  SELECT DISTINCT ON (m.conversation_uid, m.seq) m.id, m.conversation_uid, m.seq, m.asking
    FROM (SELECT id, seq FROM best WHERE type = 'episode' AND coverage < {ALL_WORDS} AND {_TALK}
           ORDER BY score DESC, id LIMIT least($7, {SILENT_MAX})) b,
         LATERAL (SELECT conversation_id FROM memories
                   WHERE tenant_id = $1 AND owner = ANY ($2) AND id = b.id OFFSET 0) c,
         LATERAL (SELECT id, conversation_uid, seq, start, {_ASKING},
                         owner = ANY ($2) AND type = 'episode' AND {FITS} AS fits
                    FROM memories WHERE tenant_id = $1 AND conversation_id = c.conversation_id
                     AND seq BETWEEN b.seq - 1 AND b.seq + 1 OFFSET 0) m -- by no owner: that would read all of theirs
   WHERE m.fits AND NOT EXISTS (SELECT FROM best o WHERE o.conversation_uid = m.conversation_uid AND o.seq = m.seq)
   ORDER BY m.conversation_uid, m.seq, m.start
), """


def _best(frame: str, part: str = "score") -> str:
    """Return the best score, or part of one, of the turns in a frame; 0 if none is better."""
    return f"coalesce(greatest(max({part}) FILTER (WHERE talk) OVER {frame}, 0), 0)"


def _frame(first: str, last: str) -> str:
    return f"(PARTITION BY conversation_uid ORDER BY seq RANGE BETWEEN {first} AND {last})"


def lifting(*, by_words: bool) -> str:
    """Return the part of the search statement that makes ``every`` of ``scored``.

    A message scores as its best passage does, and is lifted by its neighbours where it is a turn of a dialogue;
    everything else stands alone, of an archive its best passages. As far as a turn asks, it lifts the next and is not
    lifted by it. ``by_words``: only memories with a word of the query are scored; their neighbours join them.
    """
    silent = "UNION ALL SELECT id, conversation_uid, seq, 0, 0, 0, asking, true FROM silent" if by_words else ""
    return f"""best AS MATERIALIZED (
  SELECT b.*, m.type, m.conversation_uid, m.seq, m.page, m.archive_id, {_ASKING},
         CASE WHEN $18::text IS NOT NULL AND (m.terms <#> $18::text::sparsevec) < 0 THEN {SPOKEN} ELSE 0 END
         + CASE WHEN $19::uuid[] IS NULL THEN 0
                ELSE coalesce((SELECT max(weight) FROM unnest($19, $20::uuid[], $21::float8[]) t (since, until, weight)
                                WHERE b.id >= since AND b.id < until), 0) END AS named
    FROM (SELECT * FROM scored ORDER BY score DESC, id LIMIT {LOOKED_AT} + {LOOKED_AT_EACH} * $7) b,
         LATERAL (SELECT type, conversation_uid, seq, page, archive_id, terms FROM memories
                   WHERE tenant_id = $1 AND owner = ANY ($2) AND id = b.id OFFSET 0) m -- each by itself
), {_SILENT if by_words else ""}turns AS (
  SELECT id, conversation_uid, seq, coverage, score, named, asking, {_TALK} AS talk FROM best WHERE type = 'episode'
  {silent}
), lifted AS (
  SELECT id, conversation_uid, seq, coverage, score AS own, talk, score + named + CASE WHEN talk
           THEN {NEIGHBOUR} * ({_best("before", "asking * score")} + (1 - asking) * {_best("after")})
              + {NEXT_BUT_ONE} * ({_best("before_that")} + {_best("after_that")})
           ELSE 0 END AS score,
         row_number() OVER (PARTITION BY conversation_uid, seq ORDER BY score DESC, id) AS place
    FROM turns
  WINDOW before AS {_frame("1 PRECEDING", "1 PRECEDING")}, after AS {_frame("1 FOLLOWING", "1 FOLLOWING")},
         before_that AS {_frame("2 PRECEDING", "2 PRECEDING")}, after_that AS {_frame("2 FOLLOWING", "2 FOLLOWING")}
), drawn AS (
  SELECT id, coverage, own, place, CASE WHEN talk AND own > 0
           THEN score + {AROUND} * (max(score) FILTER (WHERE talk) OVER around - score) ELSE score END AS score
    FROM lifted WHERE place = 1 OR $17
  WINDOW around AS {_frame(f"{AROUND_TURNS} PRECEDING", f"{AROUND_TURNS} FOLLOWING")}
), alone AS (
  SELECT *, row_number() OVER (PARTITION BY archive_id ORDER BY score + named DESC, id) AS place
    FROM best WHERE type <> 'episode'
), every AS (
  SELECT id, coverage, own, score FROM drawn
  UNION ALL
  SELECT id, coverage, score, score + named FROM alone WHERE place <= {ARCHIVE_PASSAGES} OR archive_id IS NULL OR $17
)"""
