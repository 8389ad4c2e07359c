-- name: walk_indexed
-- The words of all messages, with what they are indexed by.
SELECT m.tenant_id, m.user_id, m.number, m.content, i.terms FROM messages m
LEFT JOIN message_terms i
    ON i.tenant_id = m.tenant_id AND i.user_id = m.user_id AND i.number = m.number;

-- name: walk_stray_terms
-- What is indexed although there is no such message.
SELECT tenant_id, user_id, number FROM message_terms i WHERE NOT EXISTS (
    SELECT 1 FROM messages m WHERE m.tenant_id = i.tenant_id AND m.user_id = i.user_id AND m.number = i.number);
