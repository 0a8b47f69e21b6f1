-- Settle permits of one gate: free the concurrency slots, correct the token slots, learn limits, close the gate, feed
-- the breaker. Every call is settled as if it came alone, in the order given.
--
-- ARGV  1 calls (JSON), each: call, result (ok | rate | failed | other | unused: no call was made), epoch (of the
--       permit), input, input_used, output, output_used (tokens), dead_after (ms without an answer until the gate is
--       dead); if it has them: rpm, input_tpm, output_tpm (configured limits), closed (close the gate for, ms),
--       hinted_rpm, hinted_input, hinted_output (limits that the provider's headers name), latency (ms, where the
--       number of calls in flight is learned)
--       3 breaker window, ms  4 calls it needs  5 cool-down, ms  6 retry budget's capacity  7 its gain per success
--       8 fewest failures of a dead gate  9, 10 fewest and most calls in flight that are learned
-- Reply for each call {1 if a repeat of it is within the gate's retry budget (and is taken from it), else 0,
--       1 if the gate is dead, failures in a row, for how many ms}. A 429 costs no retry.

local window, breaker_calls, cool_down = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local capacity, gain, fewest_failures = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local fewest_places, most_places = tonumber(ARGV[9]), tonumber(ARGV[10])
local settled = cjson.decode(ARGV[1])
local names, given_up = {}, {}
for at, call in ipairs(settled) do
  names[at] = call.call
  if call.result == 'unused' then given_up[#given_up + 1] = call.call end
end

-- Who holds a permit matters only where something is given back: then it is looked up, once for all.
local holds, n_released, is_released = nil, 0, {}

local function look_up_holders()
  if holds then return end
  holds = {}
  for at, score in ipairs(redis.call('ZMSCORE', calls, unpack(names))) do holds[names[at]] = score and true end
  for name in pairs(is_released) do
    if holds[name] then n_released = n_released + 1 end
  end
end

-- A caller that gives up waiting may never have had a permit: then there is nothing to give back.
local function was_granted(call)
  look_up_holders()
  return holds[call.call] and not is_released[call.call]
end

local function release(call)
  if holds and was_granted(call) then n_released = n_released + 1 end
  is_released[call.call] = true
end

local function count_other_calls(call)
  local own = was_granted(call) and 1 or 0
  return redis.call('ZCARD', calls) - n_released - own
end

local function correct(call, name, configured, surplus)
  if surplus < 0 and field('next.' .. name) <= now then return end  -- nobody waits: nothing to give back
  local limit = limit_of(name, configured)
  if limit > 0 and surplus ~= 0 and was_granted(call) then add('next.' .. name, surplus * 60000 / limit) end
end

local function learn(name, limit)
  if limit then put('learned.' .. name, limit) end
end

-- The pace: lowered at most once for all calls that were granted under it, then never below what was answered lately;
-- raised slowly near the rate at which it was lowered last, faster below and above. It holds only while calls wait for it.
local function answered_a_minute()
  local took = now - field('ok_before_since')
  local count = field('ok') + field('ok_before')
  if took < 5000 and count < 10 then return nil end
  return count * 60000 / math.max(took, 1000)
end

local function count_answer()
  put('streak', 0)
  if now - field('ok_since') > 10000 then
    put('ok_before', field('ok'))
    put('ok_before_since', field('ok_since'))
    put('ok', 0)
    put('ok_since', now)
  end
  add('ok', 1)
end

local function first_pace(call)
  local answered = field('ok') * 60000 / math.max(now - field('ok_since'), 1000)
  local pace = answered > 0 and answered or (count_other_calls(call) + 1) * 60
  put('top', pace)
  put('ok', 0)
  put('ok_since', now)
  put('ok_before', 0)
  put('ok_before_since', now)
  return pace
end

local function lower_pace(pace, streak)
  if streak > 3 then return pace end
  local answered = answered_a_minute()
  local aim = answered and answered * 0.95 or pace * 0.7
  pace = math.max(math.min(aim, pace * 0.9), pace * 0.5)
  if streak == 1 then put('top', math.max(answered or 0, pace)) end
  return pace
end

local function lower(call)
  local pace, streak = field('pace'), add('streak', 1)
  if pace == 0 then pace = first_pace(call) else pace = lower_pace(pace, streak) end
  put('pace', math.max(pace, 1))
  put('next.pace', math.max(now, field('closed_until')))
  put('grown_at', now)
  add('epoch', 1)
  forget('next.later')
end

local function raise(pace)
  local top, elapsed = field('top'), math.min(now - field('grown_at'), 1000)
  local a_second = 0.02
  if pace < top * 0.5 then a_second = 0.1
  elseif pace < top * 0.95 then a_second = 0.03
  elseif pace < top * 1.05 then a_second = 0.003 end
  put('pace', pace * (1 + a_second * elapsed / 1000))
  put('grown_at', now)
end

-- Without a word from the provider the gate stays shut for longer each time that nothing was answered in between.
local function close(asked)
  local length = asked or math.min(1000 * 2 ^ field('streak'), 30000)
  put('closed_until', math.max(field('closed_until'), now + length))
end

local function adjust_pace(call)
  local pace, is_current = field('pace'), call.epoch == field('epoch')
  if call.result == 'rate' then
    close(call.closed)
    if is_current then lower(call) end
  elseif call.result == 'ok' then
    count_answer()
    if pace > 0 and is_current and now - field('limited_at') < 2000 + 60000 / pace then raise(pace) end
  elseif call.result == 'unused' and is_current and pace > 0 and was_granted(call) then
    add('next.pace', -60000 / pace)
  end
end

-- How many calls at once the provider takes well, learned in rounds of as many answers: doubled while callers wait for a
-- place and answers come about as fast as in the best round, lowered when they have become slow.
local function learn_room(call)
  local room, n, ms = field('room'), add('room.n', 1), add('room.ms', call.latency)
  if room == 0 or n < room then return end
  local mean, base = ms / n, field('room.base') * 1.02
  if base == 0 or mean < base then base = mean end
  if mean > 3 * base then
    room = math.max(fewest_places, math.floor(room * 0.7))
  elseif mean <= 2 * base and field('room.pressed') == 1 then
    room = math.min(most_places, room * 2)
  end
  put('room', room)
  put('room.base', base)
  put('room.n', 0)
  put('room.ms', 0)
  put('room.pressed', 0)
end

-- How long nothing has been answered: a judge that fails for too long is dead, and its caller says so.
local function count_failure(call)
  local failures = add('failures', 1)
  if failures == 1 then put('failing_since', now) end
  local failing = now - field('failing_since')
  local is_dead = failures >= fewest_failures and failing >= call.dead_after
  if is_dead then forget('failing_since', 'failures') end
  return is_dead and 1 or 0, failures, math.floor(failing)
end

local function count_for_breaker(result)
  if now - field('window') > window then
    put('window', now)
    put('failed', 0)
    put('counted', 0)
  end
  local counted = add('counted', 1)
  if result == 'failed' then add('failed', 1) end
  if counted >= breaker_calls and field('failed') * 2 >= counted then
    put('open_until', now + cool_down)
    put('cool_down', cool_down)
    put('probe_until', 0)
  end
end

-- The breaker counts what the provider did, not what the caller asked wrongly: ok and failed only. While it is open
-- only the probe's failure makes it last longer: those of the calls that were under way when it opened say nothing new.
local function feed_breaker(call)
  local was_open, result = field('open_until') > 0, call.result
  local was_probe = was_open and state['probe'] == call.call
  if was_open and result == 'ok' then
    forget('open_until', 'probe_until', 'probe', 'window', 'failed', 'counted', 'cool_down')
  elseif was_probe and result == 'failed' then
    local longer = math.min(math.max(field('cool_down'), cool_down) * 2, 60000)
    put('open_until', now + longer)
    put('cool_down', longer)
    put('probe_until', 0)
  elseif was_probe then
    put('probe_until', 0)
  elseif not was_open and (result == 'ok' or result == 'failed') then
    count_for_breaker(result)
  end
end

local function draw_retry(result)
  if result == 'unused' or result == 'rate' then return 1 end
  local budget = state.retries and field('retries') or capacity
  if result == 'ok' then
    if budget < capacity then put('retries', math.min(capacity, budget + gain)) end
    return 1
  end
  if budget < 1 then return 0 end
  put('retries', budget - 1)
  return 1
end

local function settle(call)
  correct(call, 'requests', call.rpm, call.result == 'unused' and -1 or 0)
  correct(call, 'input', call.input_tpm, call.input_used - call.input)
  correct(call, 'output', call.output_tpm, call.output_used - call.output)
  learn('requests', call.hinted_rpm)
  learn('input', call.hinted_input)
  learn('output', call.hinted_output)
  adjust_pace(call)
  if call.latency then learn_room(call) end
  local is_dead, failures, failing = 0, 0, 0
  if call.result == 'ok' then
    forget('failing_since', 'failures')
  elseif call.result == 'failed' or call.result == 'rate' then
    is_dead, failures, failing = count_failure(call)
  end
  feed_breaker(call)
  release(call)
  return {draw_retry(call.result), is_dead, failures, failing}
end

for _, call in ipairs(settled) do replies[#replies + 1] = settle(call) end

if #names > 0 then redis.call('ZREM', calls, unpack(names)) end
if #given_up > 0 then redis.call('ZREM', waiting, unpack(given_up)) end
