-- Store what was loaded, or find that what is stored is current: token, fresh generation, idle, window or nothing.
local token, fresh, idle, window = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
enter(fresh, idle)
local holder, expires = unpack(redis.call('HMGET', conversation, 'l', 'x'))
if holder ~= token then
  keep(conversation, 1)
  return 0
end
redis.call('HDEL', conversation, 'l', 'x')
if tonumber(expires) <= now or fenced(user) or fenced(conversation) then return 0 end
if window == '' then window = redis.call('HGET', conversation, 'w') end
if not window then return 0 end
store(window, idle)
return 1
