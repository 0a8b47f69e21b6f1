-- Settle a permit: free the concurrency slot, correct the token slots, learn limits, close the gate, feed the breaker.
--
-- KEYS  1 gate (hash)  2 calls in flight  3 callers waiting  4 the provider's retry budget (string)
-- ARGV  1 call  2 result: ok | rate | failed | other | unused (no call was made)  3, 4 tokens in: reserved, used
--       5, 6 tokens out: reserved, used  7, 8 configured limits of tokens in and out a minute  9 close the gate
--       for, ms (0: not)  10..12 limits learned: requests, input, output (0: none)  13 breaker window, ms  14 calls it
--       needs  15 cool-down, ms  16 retry budget's capacity  17 its gain per success  18 configured requests a minute
-- Reply 1 if a repeat of this call is within the provider's retry budget (and is taken from it), else 0.

local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local gate, result = KEYS[1], ARGV[2]

local function field(name) return tonumber(redis.call('HGET', gate, name) or '0') end

-- A caller that gives up waiting may never have had a permit: then there is nothing to give back.
local was_granted = redis.call('ZREM', KEYS[2], ARGV[1]) == 1
redis.call('ZREM', KEYS[3], ARGV[1])

local function correct(name, configured, reserved, used)
  local learned = field('learned.' .. name)
  local limit = configured <= 0 and learned or (learned > 0 and math.min(configured, learned) or configured)
  if was_granted and limit > 0 and reserved ~= used then
    redis.call('HSET', gate, 'next.' .. name, field('next.' .. name) + (used - reserved) * 60000 / limit)
  end
end
correct('requests', tonumber(ARGV[18]), 1, result == 'unused' and 0 or 1)
correct('input', tonumber(ARGV[7]), tonumber(ARGV[3]), tonumber(ARGV[4]))
correct('output', tonumber(ARGV[8]), tonumber(ARGV[5]), tonumber(ARGV[6]))

for index, name in ipairs({'requests', 'input', 'output'}) do
  local learned = tonumber(ARGV[9 + index])
  if learned > 0 then redis.call('HSET', gate, 'learned.' .. name, learned) end
end

local close = tonumber(ARGV[9])
if close > 0 then
  redis.call('HSET', gate, 'closed_until', math.max(field('closed_until'), now + close))
end

-- The breaker counts what the provider did, not what the caller asked wrongly: ok and failed only. While it is open
-- only the probe's failure makes it last longer: those of the calls that were under way when it opened say nothing new.
local cool_down = tonumber(ARGV[15])
local was_open = field('open_until') > 0
local was_probe = was_open and redis.call('HGET', gate, 'probe') == ARGV[1]
if was_open and result == 'ok' then
  redis.call('HDEL', gate, 'open_until', 'probe_until', 'probe', 'window', 'failed', 'counted', 'cool_down')
elseif was_probe and result == 'failed' then
  local longer = math.min(math.max(field('cool_down'), cool_down) * 2, 60000)
  redis.call('HSET', gate, 'open_until', now + longer, 'cool_down', longer, 'probe_until', 0)
elseif was_probe then
  redis.call('HSET', gate, 'probe_until', 0)
elseif not was_open and (result == 'ok' or result == 'failed') then
  if now - field('window') > tonumber(ARGV[13]) then
    redis.call('HSET', gate, 'window', now, 'failed', 0, 'counted', 0)
  end
  local counted = redis.call('HINCRBY', gate, 'counted', 1)
  local failed = result == 'failed' and redis.call('HINCRBY', gate, 'failed', 1) or field('failed')
  if counted >= tonumber(ARGV[14]) and failed * 2 >= counted then
    redis.call('HSET', gate, 'open_until', now + cool_down, 'cool_down', cool_down, 'probe_until', 0)
  end
end
redis.call('PEXPIRE', gate, 86400000)

if result == 'unused' then return 1 end
local capacity = tonumber(ARGV[16])
local left = tonumber(redis.call('GET', KEYS[4]) or capacity)
if result == 'ok' then
  if left < capacity then redis.call('SET', KEYS[4], math.min(capacity, left + tonumber(ARGV[17])), 'EX', 86400) end
  return 1
end
if left < 1 then return 0 end
redis.call('SET', KEYS[4], left - 1, 'EX', 86400)
return 1
