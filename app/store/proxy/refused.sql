-- name: leave
-- Takes messages out: they weigh nothing from now on, and a mark is their line. (:unsaid: no caller's list has them.)
UPDATE messages
   SET kind = 'refused', full_tokens = 0, short_tokens = 0, full_before = :full_before, short_before = :short_before,
       line = :line, line_tokens = :line_tokens,
       digest = CASE WHEN :unsaid THEN :digest ELSE digest END, chain = CASE WHEN :unsaid THEN :chain ELSE chain END
 WHERE tenant_id = :tenant AND conversation_id = :conversation AND seq >= :first;
