-- Begin or end a write to many conversations of the user: token, fresh generation, idle, fence or 0 at the end.
local token, fresh, idle, fence = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('HSET', user, 'g', fresh)
if fence > 0 then
  redis.call('HSET', user, 'f:' .. token, now + fence)
else
  redis.call('HDEL', user, 'f:' .. token)
end
keep(user, idle)
for _, held in ipairs(redis.call('ZRANGE', index, 0, -1)) do redis.call('DEL', held) end
redis.call('DEL', index)
return 1
