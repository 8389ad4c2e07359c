-- Forget a window and let nobody store one that was read or made before.
redis.call('HDEL', conversation, 'w', 't', 'l', 'x', 's')
return 1
