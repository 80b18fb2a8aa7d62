-- name: record
-- Records a request; nothing, if the conversation was erased meanwhile.
INSERT INTO proxied_requests (tenant_id, conversation_id, id, dialect, mode, model, calls, total_ms, first_ms,
  first_seq, last_seq, window_tokens, prompt_tokens, cached_tokens, written_tokens, completion_tokens, error,
  window_number)
SELECT :tenant, c.id, :id, :dialect, :mode, :model, :calls, :total_ms, :first_ms, :first_seq, :last_seq,
       :window_tokens, :prompt_tokens, :cached_tokens, :written_tokens, :completion_tokens, :error, :window_number
  FROM conversations c WHERE c.tenant_id = :tenant AND c.id = :conversation FOR KEY SHARE
RETURNING id;
