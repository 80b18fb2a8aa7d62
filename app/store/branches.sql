-- piece: copied
-- What a branch has as the conversation it branches off from.
user_id, space_id, system, model, budget, policy, metadata, prompt_tokens, system_tokens,
   learned_percent, file_percents, has_earlier

-- name: insert
-- Makes a branch of a locked conversation; no row if its id is taken. Messages that it shares are never pruned for it.
-- What was recalled for its newest user message stays in its windows.
INSERT INTO conversations
  (tenant_id, id, uid, title, parent_id, line, trunk, scopes, last_seq, last_page, user_seq, prompt_through, open_group,
   open_calls, full_total, short_total, history_total, language, generation, epoch, indexed_through,
   chaptered_through, summary_through, pruned_through, chain, answered, said_at, said_offset, recalled_seq,
   recalled, recalled_tokens, asked, asked_from, parent, is_apart, file_weights, {copied})
SELECT :tenant, :id, :uid, :title, :parent_id, :line, :trunk, :scopes, :last_seq, :last_page, :user_seq,
       :prompt_through, :open_group, :open_calls, :full_total, :short_total, :history_total, :language,
       generation, epoch, :indexed_through, :chaptered_through, :summary_through, :last_seq, :chain, :answered,
       :said_at, :said_offset, CASE recalled_seq WHEN :user_seq THEN :user_seq ELSE 0 END,
       CASE recalled_seq WHEN :user_seq THEN recalled END,
       CASE recalled_seq WHEN :user_seq THEN recalled_tokens ELSE 0 END, :asked, :asked_from,
       :parent, :is_apart, :file_weights, {copied}
  FROM conversations WHERE tenant_id = :tenant AND id = :of
ON CONFLICT (tenant_id, id) DO NOTHING
RETURNING id;
