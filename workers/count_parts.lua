-- Count some parts of one chord, exactly as Celery's own script counts one part; the last step is left to Celery.
--
-- KEYS  1 results (sorted set)  2 difference to the size  3 size  4 parts counted (set)  5 claim of the callback
-- ARGV  1 life of the keys, s (0: no end)  then for each part: task id, index in the chord, encoded result
-- Reply 1 if all parts of the chord are counted and its callback was not sent yet, else 0.

local state = redis.call('MGET', KEYS[5], KEYS[3], KEYS[2])
local claim, size, difference = state[1], state[2], state[3]
if claim == 'done' then return 0 end

-- A part that was counted before is the same member again, so it counts once.
local members, results = {}, {}
for place = 2, #ARGV, 3 do
  members[#members + 1] = ARGV[place] .. ':' .. ARGV[place + 1]
  results[#results + 1] = ARGV[place + 1]
  results[#results + 1] = ARGV[place + 2]
end
redis.call('ZADD', KEYS[1], unpack(results))
redis.call('SADD', KEYS[4], unpack(members))
local counted = redis.call('ZCARD', KEYS[1])

if tonumber(ARGV[1]) > 0 and counted <= #members then  -- the first parts: later ones need not say it again
  for place = 1, 4 do redis.call('EXPIRE', KEYS[place], ARGV[1]) end
end
if size and counted == tonumber(size) + tonumber(difference or '0') then return 1 end
return 0
