-- name: find
-- A user's conversations that end with one of a list's prefixes, or whose last question is the whole list.
--
-- Conversations without a user have a statement of their own, so that an index finds them too. The predicates of the
-- indexes are functions, since these cost something: no plan then takes the index of all of the user's by time.
SELECT * FROM (
  (SELECT f.* FROM unnest(:ends::bytea[]) AS e (ended) CROSS JOIN LATERAL (
     SELECT {fields} FROM conversations
      WHERE tenant_id = :tenant AND {user} AND octet_length(answered) > 0 AND chain = e.ended
      ORDER BY updated_at DESC LIMIT {candidates_max}) f)
  UNION ALL
  (SELECT {fields} FROM conversations
    WHERE tenant_id = :tenant AND {user} AND octet_length(asked) > 0 AND asked = :asked
    ORDER BY updated_at DESC LIMIT {candidates_max})
) c ORDER BY updated_at DESC;
