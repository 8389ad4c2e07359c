-- End a change; its window is stored if no other change touched it meanwhile: token, fresh generation, idle, window.
local token, fresh, idle, window = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
enter(fresh, idle)
local fence = redis.call('HGET', conversation, 'f:' .. token)
local alone = redis.call('HGET', conversation, 's') == token and fence and tonumber(fence) > now and not fenced(user)
redis.call('HDEL', conversation, 'f:' .. token, 'w', 't', 'l', 'x', 's')
if alone and window ~= '' then store(window, idle) else keep(conversation, 1) end
return 1
