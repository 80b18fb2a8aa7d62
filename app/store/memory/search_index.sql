-- name: ready
-- Those of some owners whose index is complete except for a few memories without vectors; with a model, whose index is
-- of this model. Owners with few memories in the searched time are left out, because all of these are read.
SELECT i.owner FROM search_indexes i
 WHERE i.tenant_id = :tenant AND i.owner = ANY (:owners::uuid[]) AND i.through IS NULL
   AND (:model::uuid IS NULL OR i.model = :model)
   AND :waiting_max > (SELECT count(*) FROM (
         SELECT FROM unembedded u WHERE u.tenant_id = :tenant AND u.owner BETWEEN i.owner AND i.owner
          ORDER BY u.owner, u.memory_id -- in no other index's order
          LIMIT :waiting_max) u)
   AND :few::int < (SELECT count(*) FROM (
         SELECT FROM memories m
          WHERE m.tenant_id = :tenant AND (m.owner, m.id) >= (i.owner, :since) AND (m.owner, m.id) < (i.owner, :until)
          ORDER BY m.owner, m.id LIMIT :few::int + 1) m);

-- name: is_due
-- Whether an owner has at least :large vectors of a model, but no index of this model.
SELECT NOT EXISTS (SELECT FROM search_indexes WHERE tenant_id = :tenant AND owner = :owner AND model = :model)
   AND (SELECT count(*) FROM (SELECT FROM embeddings WHERE tenant_id = :tenant AND owner = :owner AND model = :model
                               LIMIT :large) e) = :large;

-- name: find
-- An owner's index, and if it is of another model, the number of vectors that a new one would list.
SELECT i.model, i.through, CASE WHEN i.model = :model THEN 0 ELSE (
         SELECT count(*) FROM embeddings e
          WHERE e.tenant_id = :tenant AND e.owner = :owner AND e.model = :model) END AS count
  FROM (SELECT) one LEFT JOIN search_indexes i ON i.tenant_id = :tenant AND i.owner = :owner;

-- piece: sample
-- A sample of an owner's vectors, chosen by the last byte of the id, which is random.
SELECT memory_id, embedding FROM embeddings
 WHERE tenant_id = :tenant AND owner = :owner AND model = :model AND get_byte(uuid_send(memory_id), 15) < :share

-- name: first_centroids
-- The first :lists vectors of the sample.
SELECT array_agg(embedding::text) FROM (
  SELECT embedding FROM ({sample}) s ORDER BY get_byte(uuid_send(memory_id), 14), memory_id LIMIT :lists) s;

-- name: centroids
-- The mean of the sample's vectors that are nearest to each centroid, if they are enough that none can be recognised.
WITH lists AS MATERIALIZED (
  SELECT c.centroid::halfvec AS centroid, c.list
    FROM unnest(:centroids::text[]) WITH ORDINALITY AS c (centroid, list)
)
SELECT array_agg(centroid) FROM (
  SELECT l2_normalize(sum(s.embedding::vector))::text AS centroid
    FROM ({sample}) s, LATERAL (SELECT list FROM lists ORDER BY centroid <#> s.embedding, list LIMIT 1) n
   GROUP BY n.list HAVING count(*) >= :members) c;

-- name: begin
-- Begins an owner's index, or restarts it.
INSERT INTO search_indexes (tenant_id, owner, model, centroids, through)
VALUES (:tenant, :owner, :model, :centroids::text[]::halfvec[], '00000000-0000-0000-0000-000000000000')
ON CONFLICT (tenant_id, owner) DO UPDATE
   SET model = excluded.model, centroids = excluded.centroids, through = excluded.through;

-- name: hold
-- Those of some memories that exist, locked so that they stay until the transaction ends.
SELECT id FROM memories WHERE tenant_id = :tenant AND id = ANY (:ids::uuid[]) FOR KEY SHARE;

-- name: post
-- Adds memories to the lists of their terms.
INSERT INTO postings (tenant_id, owner, term, memory_id)
SELECT m.tenant_id, m.owner, split_part(t.component, ':', 1)::int, m.id
  FROM memories m, unnest(string_to_array(btrim(split_part(m.terms::text, '/', 1), '{}'), ',')) AS t (component)
 WHERE m.tenant_id = :tenant AND m.id = ANY (:ids::uuid[])
ON CONFLICT DO NOTHING;

-- name: list_vectors
-- Puts the vectors of memories into the nearest lists. The WITH belongs to the query, not to the INSERT, which Citus
-- would not send to one node.
INSERT INTO listed (tenant_id, memory_id, owner, model, list, embedding)
WITH lists AS MATERIALIZED (
  SELECT i.model, c.centroid, c.list FROM search_indexes i, unnest(i.centroids) WITH ORDINALITY AS c (centroid, list)
   WHERE i.tenant_id = :tenant AND i.owner = :owner
)
SELECT e.tenant_id, e.memory_id, e.owner, e.model,
       (SELECT list FROM lists ORDER BY centroid <#> e.embedding, list LIMIT 1), e.embedding
  FROM embeddings e
 WHERE e.tenant_id = :tenant AND e.owner = :owner AND e.memory_id = ANY (:ids::uuid[])
   AND e.model = (SELECT model FROM lists LIMIT 1)
ON CONFLICT (tenant_id, memory_id) DO UPDATE
   SET model = excluded.model, list = excluded.list, embedding = excluded.embedding;
