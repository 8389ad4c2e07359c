-- Give the window, or the right to store what is loaded: token, fresh generation, idle, lease, oldest age, not before.
local token, fresh, idle, lease = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local age, since = tonumber(ARGV[5]), tonumber(ARGV[6])
enter(fresh, idle)
keep(conversation, lease)
if fenced(user) or fenced(conversation) then return {'busy'} end
local window, stored = unpack(redis.call('HMGET', conversation, 'w', 't'))
stored = tonumber(stored or 0)
if window and stored >= since and stored <= now and now - stored <= age then
  keep(conversation, idle)
  redis.call('ZADD', index, 'XX', now + idle, conversation)
  keep(index, idle)
  return {'hit', window}
end
local holder, expires = unpack(redis.call('HMGET', conversation, 'l', 'x'))
if holder and tonumber(expires) > now then return {'held', holder} end
redis.call('HSET', conversation, 'l', token, 'x', now + lease)
return {'leased', window}
