-- Take a permit at a gate: a request slot, token slots and a concurrency slot, all or none, or learn how long to wait.
--
-- KEYS  1 gate (hash)  2 calls in flight (sorted set: call -> when it is given up for dead)
--       3 callers waiting (sorted set: call -> when it expects to go)
-- ARGV  1 call  2 input tokens  3 output tokens  4..7 limits: requests, input tokens, output tokens a minute,
--       concurrency (0: none)  8 burst, ms  9 longest wait worth reserving, ms  10 life of a call, ms
--       11 longest wait for the learned pace worth reserving, ms
-- Gate  next.requests, next.input, next.output: when the next unit is free (GCRA's theoretical arrival time, ms)
--       learned.*: limits from the provider's headers   closed_until: no call before (429)
--       pace: requests a minute learned from 429s, next.pace its next free unit, epoch how often it was lowered
--       limited_at: when the pace last made a caller wait   next.later: when the next caller sent away comes back
--       open_until, probe_until, probe: the breaker and the call that tries it
--       minute, granted, granted_before: permits this minute and the last
-- Reply {granted 0|1, wait ms, reason, epoch}; granted with a wait: the slot is reserved, go then.
-- Time is the server's: the clocks of the workers do not matter.

local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local gate, calls, waiting, call = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local burst, patience, life = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])

local function field(name) return tonumber(redis.call('HGET', gate, name) or '0') end

local function refuse(wait, reason)
  redis.call('ZADD', waiting, now + wait, call)
  redis.call('PEXPIRE', waiting, 3600000)
  return {0, math.ceil(wait), reason, field('epoch')}
end

redis.call('ZREMRANGEBYSCORE', waiting, '-inf', now - 5000)

local closed = field('closed_until') - now
if closed > 0 then return refuse(closed, 'closed') end

local open_until = field('open_until')
if open_until > now then return refuse(open_until - now, 'open') end
if open_until > 0 then
  local probe = field('probe_until') - now
  if probe > 0 then return refuse(math.min(probe, 1000), 'probing') end
end

local function smaller(configured, learned)
  if configured <= 0 then return learned end
  if learned <= 0 then return configured end
  return math.min(configured, learned)
end

local concurrency = tonumber(ARGV[7])
redis.call('ZREMRANGEBYSCORE', calls, '-inf', now)
if concurrency > 0 and redis.call('ZCARD', calls) >= concurrency then return refuse(100, 'concurrency') end

-- Callers that a learned pace cannot serve soon leave their slots to other judges, and come back one by one.
local pace = field('pace')
if pace > 0 then
  local behind = field('next.pace') - now
  if behind > 0 then redis.call('HSET', gate, 'limited_at', now) end
  if behind > tonumber(ARGV[11]) then
    local later = math.max(field('next.later'), now + tonumber(ARGV[11]) / 2)
    redis.call('HSET', gate, 'next.later', math.min(later + 60000 / pace, now + 60000))
    return refuse(later - now, 'pace')
  end
end

local demands = {
  {'requests', smaller(tonumber(ARGV[4]), field('learned.requests')), 1},
  {'input', smaller(tonumber(ARGV[5]), field('learned.input')), tonumber(ARGV[2])},
  {'output', smaller(tonumber(ARGV[6]), field('learned.output')), tonumber(ARGV[3])},
  {'pace', pace, 1, burst = 0},
}
local wait = 0
for _, demand in ipairs(demands) do
  if demand[2] > 0 then
    demand.cost = demand[3] * 60000 / demand[2]
    -- A learned limit below one call a minute is an odd header: the call it came with was answered.
    if demand[2] == field('learned.' .. demand[1]) then demand.cost = math.min(demand.cost, 60000) end
    demand.next = math.max(field('next.' .. demand[1]), now)
    -- The call itself is part of the burst: never more than limit × time + burst in any window.
    wait = math.max(wait, demand.next - math.max((demand.burst or burst) - demand.cost, 0) - now)
  end
end
if wait > patience then return refuse(wait, 'rate') end

for _, demand in ipairs(demands) do
  if demand.next then redis.call('HSET', gate, 'next.' .. demand[1], demand.next + demand.cost) end
end
if open_until > 0 then redis.call('HSET', gate, 'probe_until', now + life, 'probe', call) end

local minute = math.floor(now / 60000)
local last = field('minute')
if minute ~= last then
  local before = (minute == last + 1) and field('granted') or 0
  redis.call('HSET', gate, 'minute', minute, 'granted', 0, 'granted_before', before)
end
redis.call('HINCRBY', gate, 'granted', 1)
redis.call('ZADD', calls, now + wait + life, call)
if wait > 0 then redis.call('ZADD', waiting, now + wait, call) else redis.call('ZREM', waiting, call) end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, 86400000) end
return {1, math.ceil(wait), 'granted', field('epoch')}
