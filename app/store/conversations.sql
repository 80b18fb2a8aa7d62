-- name: create
-- Makes a conversation; no row if there is one of this id.
INSERT INTO conversations
  (tenant_id, id, uid, user_id, title, system, system_tokens, model, budget, policy, metadata, has_earlier, scopes,
   space_id, parent, is_apart)
VALUES (:tenant, :id, :uid, :user_id, :title, :system, :system_tokens, :model, :budget, :policy, :metadata,
        :has_earlier, :scopes, :space_id, :parent, :is_apart)
ON CONFLICT (tenant_id, id) DO NOTHING
RETURNING id;

-- name: change
-- Changes what a PATCH can change. :moves_zones (1) begins a generation: system, model, budget and policy move every
-- window's zones.
UPDATE conversations
   SET title = :title, system = :system, system_tokens = :system_tokens, model = :model, budget = :budget,
       policy = :policy, metadata = :metadata,
       learned_percent = CASE WHEN model IS DISTINCT FROM :model THEN 0 ELSE learned_percent END,
       file_percents = CASE WHEN model IS DISTINCT FROM :model THEN '{}' ELSE file_percents END,
       version = version + 1, generation = generation + :moves_zones * (last_seq + 1)
 WHERE tenant_id = :tenant AND id = :conversation;

-- name: anchor_nothing
-- Keeps what was recalled for a user message, once, while it is the newest message (so that every replay of the cuts
-- finds it where it came), and only if all that it was made of is still there.
UPDATE conversations SET recalled_seq = :seq, recalled = :text, recalled_tokens = :tokens
   WHERE tenant_id = :tenant AND id = :conversation AND uid = :uid AND generation = :generation
     AND user_seq = :seq AND last_seq = :seq AND recalled_seq <> :seq
     AND (SELECT count(*) FROM memories m
           WHERE m.tenant_id = :tenant AND m.id = ANY (:sources::uuid[])) = cardinality(:sources::uuid[])
  RETURNING id;

-- name: anchor
-- Does the same with a text, and has the message's row say for good how much it was.
WITH c AS ({anchor_nothing})
UPDATE messages SET loaded_tokens = full_tokens + :tokens
 WHERE tenant_id = :tenant AND conversation_id = (SELECT id FROM c) AND seq = :seq AND kind = 'message'
RETURNING seq;
