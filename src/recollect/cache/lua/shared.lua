-- What every script begins with; keys: the conversation, its user, the index of what the user has here.
-- A conversation: `w` window, `t` when it was stored, `l` and `x` who may store what it loads and until when,
-- `s` the only change under way, `f:…` until when a change fences it off, `g` the generation all this belongs to.
-- A user: `g` the present generation, `f:…` as above. All times are of this server's clock.
local conversation, user, index = KEYS[1], KEYS[2], KEYS[3]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function keep(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
end

-- Tell whether a change is under way, and forget those whose time is over.
local function fenced(key)
  local live = false
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if string.sub(field, 1, 2) == 'f:' then
      if tonumber(redis.call('HGET', key, field)) > now then live = true else redis.call('HDEL', key, field) end
    end
  end
  return live
end

-- Void what belongs to an earlier generation of the user; one that was lost is replaced by one that never was.
local function enter(fresh, idle)
  local generation = redis.call('HGET', user, 'g')
  if not generation then
    generation = fresh
    redis.call('HSET', user, 'g', fresh)
  end
  keep(user, idle)
  if redis.call('HGET', conversation, 'g') ~= generation then
    redis.call('HDEL', conversation, 'w', 't', 'l', 'x', 's')
    redis.call('HSET', conversation, 'g', generation)
  end
end

local function store(window, idle)
  redis.call('HSET', conversation, 'w', window, 't', now)
  keep(conversation, idle)
  redis.call('ZREMRANGEBYSCORE', index, '-inf', now)
  redis.call('ZADD', index, now + idle, conversation)
  keep(index, idle)
end
