-- name: list
-- Archives, the newest first, after a cursor's id; ids are UUIDv7, so they are in order of time.
SELECT {card_fields}
  FROM {joined}
 WHERE a.tenant_id = :tenant
   AND (:conversation::text IS NULL OR a.conversation_id = :conversation)
   AND (:user::text IS NULL OR a.user_id = :user)
   AND (:tool::text IS NULL OR a.tool_name = :tool)
   AND (:since::timestamptz IS NULL OR a.created_at >= :since)
   AND (:until::timestamptz IS NULL OR a.created_at < :until)
   AND (:after::uuid IS NULL OR a.id < :after)
   AND {alive}
 ORDER BY a.id DESC LIMIT :limit;

-- name: insert
-- Inserts an archive, whose content is there.
INSERT INTO archives
  (tenant_id, id, scope, digest, user_id, conversation_id, seq, tool_name, tool_input, query_summary, result_summary,
   key_terms, sources, placeholder, language, expires_at, parts, created_at)
VALUES (:tenant, :id, :scope, :digest, :user_id, :conversation_id, :seq, :tool_name, :tool_input, :query_summary,
        :result_summary, :key_terms, :sources, :placeholder, :language, :expires_at, :parts, :created_at);

-- name: showing
-- The messages that show an archive: the one that contains its placeholder (:conversation, :seq), and those of its
-- scope that a recall tool loaded it into.
SELECT m.conversation_id, c.uid, m.seq, m.page, m.body, m.view, m.short, m.anthropic, m.created_at, m.said_at
  FROM messages m JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
 WHERE m.tenant_id = :tenant AND m.conversation_id = :conversation AND m.seq = :seq
UNION ALL
SELECT m.conversation_id, c.uid, m.seq, m.page, m.body, m.view, m.short, m.anthropic, m.created_at, m.said_at
  FROM messages m JOIN conversations c ON c.tenant_id = m.tenant_id AND c.id = m.conversation_id
 WHERE m.tenant_id = :tenant AND m.loaded IS NOT NULL AND position(:id::text IN m.loaded) > 0
   AND (:owner::uuid IS NULL OR :owner = ANY (c.scopes))
 ORDER BY conversation_id, seq;

-- name: replace
-- Puts other forms of a message and another line on the contents page in the place of those that show an archive; never
-- its offsets, which others build on.
UPDATE messages
   SET body = :body, view = :view, short = :short, anthropic = :anthropic, loaded = NULL, loaded_tokens = 0,
       salt = DEFAULT,
       line = :line, line_tokens = :line_tokens, words = '', archive_ids = array_remove(archive_ids, :archive),
       fresh_tokens = (
         SELECT coalesce(array_agg(f.tokens), '{}') FROM unnest(archive_ids, fresh_tokens) AS f (id, tokens)
          WHERE f.id <> :archive)
 WHERE tenant_id = :tenant AND conversation_id = :conversation AND seq = :seq;
