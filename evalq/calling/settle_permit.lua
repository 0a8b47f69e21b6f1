-- Settle a permit: free the concurrency slot, correct the token slots, learn limits, close the gate, feed the breaker.
--
-- KEYS  1 gate (hash)  2 calls in flight  3 callers waiting  4 the gate's retry budget (string)
-- ARGV  1 call  2 result: ok | rate | failed | other | unused (no call was made)  3, 4 tokens in: reserved, used
--       5, 6 tokens out: reserved, used  7, 8 configured limits of tokens in and out a minute  9 close the gate
--       for, ms (0: the provider did not say)  10..12 limits learned: requests, input, output (0: none)  13 breaker window, ms  14 calls it
--       needs  15 cool-down, ms  16 retry budget's capacity  17 its gain per success  18 configured requests a minute
--       19 epoch of the permit  20, 21 a gate is dead after this many ms and failures without an answer
-- Gate  ok, ok_since, ok_before, ok_before_since: answers of these ten seconds and of the ten before
--       top: the rate at which the pace was lowered   streak: times in a row without an answer in between
-- Reply {1 if a repeat of this call is within the gate's retry budget (and is taken from it), else 0,
--        1 if the gate is dead, failures in a row, for how many ms}. A 429 costs no retry.

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

-- The pace: lowered at most once for all calls that were granted under it, then never below what was answered lately;
-- raised slowly near the rate at which it was lowered last, faster below and above. It holds only while calls wait for it.
local pace, epoch = field('pace'), field('epoch')
local is_current = tonumber(ARGV[19]) == epoch

local function answered_a_minute()
  local took = now - field('ok_before_since')
  local count = field('ok') + field('ok_before')
  if took < 5000 and count < 10 then return nil end
  return count * 60000 / math.max(took, 1000)
end

local function count_answer()
  redis.call('HSET', gate, 'streak', 0)
  if now - field('ok_since') > 10000 then
    redis.call('HSET', gate, 'ok_before', field('ok'), 'ok_before_since', field('ok_since'), 'ok', 0, 'ok_since', now)
  end
  redis.call('HINCRBY', gate, 'ok', 1)
end

local function lower()
  local streak = redis.call('HINCRBY', gate, 'streak', 1)
  if pace == 0 then
    local answered = field('ok') * 60000 / math.max(now - field('ok_since'), 1000)
    pace = answered > 0 and answered or (redis.call('ZCARD', KEYS[2]) + 1) * 60
    redis.call('HSET', gate, 'top', pace, 'ok', 0, 'ok_since', now, 'ok_before', 0, 'ok_before_since', now)
  elseif streak <= 3 then
    local answered = answered_a_minute()
    local aim = answered and answered * 0.95 or pace * 0.7
    pace = math.max(math.min(aim, pace * 0.9), pace * 0.5)
    if streak == 1 then redis.call('HSET', gate, 'top', math.max(answered or 0, pace)) end
  end
  pace = math.max(pace, 1)
  redis.call('HSET', gate, 'pace', pace, 'next.pace', math.max(now, field('closed_until')), 'grown_at', now)
  redis.call('HINCRBY', gate, 'epoch', 1)
  redis.call('HDEL', gate, 'next.later')
end

local function raise()
  local top, elapsed = field('top'), math.min(now - field('grown_at'), 1000)
  local a_second = 0.02
  if pace < top * 0.5 then a_second = 0.1
  elseif pace < top * 0.95 then a_second = 0.03
  elseif pace < top * 1.05 then a_second = 0.003 end
  redis.call('HSET', gate, 'pace', pace * (1 + a_second * elapsed / 1000), 'grown_at', now)
end

local close = tonumber(ARGV[9])
if result == 'rate' then
  -- Without a word from the provider the gate stays shut for longer each time that nothing was answered in between.
  if close <= 0 then close = math.min(1000 * 2 ^ field('streak'), 30000) end
  redis.call('HSET', gate, 'closed_until', math.max(field('closed_until'), now + close))
  if is_current then lower() end
elseif result == 'ok' then
  count_answer()
  if pace > 0 and is_current and now - field('limited_at') < 2000 + 60000 / pace then raise() end
elseif result == 'unused' and was_granted and is_current and pace > 0 then
  redis.call('HSET', gate, 'next.pace', field('next.pace') - 60000 / pace)
end

-- How long nothing has been answered: a judge that fails for too long is dead, and its caller says so.
local is_dead, failures, failing = 0, 0, 0
if result == 'ok' then
  redis.call('HDEL', gate, 'failing_since', 'failures')
elseif result == 'failed' or result == 'rate' then
  failures = redis.call('HINCRBY', gate, 'failures', 1)
  if failures == 1 then redis.call('HSET', gate, 'failing_since', now) end
  failing = now - field('failing_since')
  if failures >= tonumber(ARGV[21]) and failing >= tonumber(ARGV[20]) then
    is_dead = 1
    redis.call('HDEL', gate, 'failing_since', 'failures')
  end
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

local function reply(within) return {within, is_dead, failures, math.floor(failing)} end

if result == 'unused' or result == 'rate' then return reply(1) end
local capacity = tonumber(ARGV[16])
local left = tonumber(redis.call('GET', KEYS[4]) or capacity)
if result == 'ok' then
  if left < capacity then redis.call('SET', KEYS[4], math.min(capacity, left + tonumber(ARGV[17])), 'EX', 86400) end
  return reply(1)
end
if left < 1 then return reply(0) end
redis.call('SET', KEYS[4], left - 1, 'EX', 86400)
return reply(1)
