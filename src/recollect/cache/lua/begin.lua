-- Fence the conversation off for a change and give the window it had: token, fresh generation, idle, fence.
local token, fresh, idle, fence = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
enter(fresh, idle)
local window = redis.call('HGET', conversation, 'w')
redis.call('HDEL', conversation, 'w', 't', 'l', 'x')
if fenced(conversation) or fenced(user) then
  redis.call('HDEL', conversation, 's')
else
  redis.call('HSET', conversation, 's', token)
end
redis.call('HSET', conversation, 'f:' .. token, now + fence)
keep(conversation, fence)
return window
