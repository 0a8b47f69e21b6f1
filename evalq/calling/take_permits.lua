-- Take permits at one gate: each caller gets a request slot, token slots and a concurrency slot, all or none, or
-- learns how long to wait. Every caller is served as if it came alone, in the order given.
--
-- ARGV  2 callers (JSON), each: call, input, output (tokens), life (of the call, ms); if it has them: rpm, input_tpm,
--       output_tpm, concurrency (limits), first_room (calls in flight to begin with, where the limit is learned), is_waiting (it was refused before), held (epoch of the permit that it has
--       waited for: it only asks whether that is still good)
--       11 burst, ms  12 longest wait worth reserving, ms  13 longest wait for the learned pace worth reserving, ms
-- Reply for each caller {granted 0|1, wait ms, reason, epoch, places at the gate (0: any number)}; granted with a wait:
--       the slot is reserved, go then.

local burst, patience, pace_patience = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local entering, queueing, served = {}, {}, {}

local function push(list, score, call)
  list[#list + 1] = score
  list[#list + 1] = call
end

local function refuse(caller, wait, reason)
  push(queueing, now + wait, caller.call)
  return {0, math.ceil(wait), reason, field('epoch'), 0}
end

-- A 429 closed the gate, the breaker opened, or the pace was lowered since the permit was reserved.
local function is_shut(caller)
  return field('closed_until') > now or field('open_until') > now or field('epoch') ~= caller.held
end

local function refuse_if_closed(caller)
  local closed, open_until = field('closed_until') - now, field('open_until')
  if closed > 0 then return refuse(caller, closed, 'closed') end
  if open_until > now then return refuse(caller, open_until - now, 'open') end
  local probe = field('probe_until') - now
  if open_until > 0 and probe > 0 then return refuse(caller, math.min(probe, 1000), 'probing') end
end

local is_swept, in_flight = false, nil

-- Calls past their life free their places.
local function sweep_calls()
  if not is_swept then redis.call('ZREMRANGEBYSCORE', calls, '-inf', now) end
  is_swept = true
end

local function count_places(caller)
  if caller.concurrency or not caller.first_room then return caller.concurrency end
  if field('room') == 0 then put('room', caller.first_room) end
  return field('room')
end

local function refuse_if_full(caller)
  local places = count_places(caller)
  if not places then return nil end
  sweep_calls()
  in_flight = in_flight or redis.call('ZCARD', calls)
  if in_flight + #entering / 2 < places then return nil end
  if not caller.concurrency then put('room.pressed', 1) end
  local refusal = refuse(caller, 100, 'concurrency')
  refusal[5] = places
  return refusal
end

-- Callers that a learned pace cannot serve soon leave their slots to other judges, and come back one by one.
local function refuse_if_paced(caller)
  local pace = field('pace')
  local behind = field('next.pace') - now
  if pace <= 0 or behind <= 0 then return nil end
  put('limited_at', now)
  if behind <= pace_patience then return nil end
  local later = math.max(field('next.later'), now + pace_patience / 2)
  put('next.later', math.min(later + 60000 / pace, now + 60000))
  return refuse(caller, later - now, 'pace')
end

local function list_demands(caller)
  return {
    {name = 'requests', limit = limit_of('requests', caller.rpm), amount = 1, burst = burst},
    {name = 'input', limit = limit_of('input', caller.input_tpm), amount = caller.input, burst = burst},
    {name = 'output', limit = limit_of('output', caller.output_tpm), amount = caller.output, burst = burst},
    {name = 'pace', limit = field('pace'), amount = 1, burst = 0},
  }
end

-- How long a demand has to wait, after which its next unit is free at `after`.
local function weigh(demand)
  local cost = demand.amount * 60000 / demand.limit
  -- A learned limit below one call a minute is an odd header: the call it came with was answered.
  if demand.limit == field('learned.' .. demand.name) then cost = math.min(cost, 60000) end
  local free_at = math.max(field('next.' .. demand.name), now)
  demand.after = free_at + cost
  -- The call itself is part of the burst: never more than limit × time + burst in any window.
  return free_at - math.max(demand.burst - cost, 0) - now
end

local function count_grant()
  local minute, last = math.floor(now / 60000), field('minute')
  if minute ~= last then
    put('granted_before', minute == last + 1 and field('granted') or 0)
    put('minute', minute)
    put('granted', 0)
  end
  add('granted', 1)
end

local function grant(caller, wait)
  if field('open_until') > 0 then
    put('probe_until', now + caller.life)
    put('probe', caller.call)
  end
  count_grant()
  push(entering, now + wait + caller.life, caller.call)
  if wait > 0 then
    push(queueing, now + wait, caller.call)
  elseif caller.is_waiting then
    served[#served + 1] = caller.call
  end
  return {1, math.ceil(wait), 'granted', field('epoch'), 0}
end

local function serve(caller)
  if caller.held then return {is_shut(caller) and 0 or 1, 0, 'held', field('epoch'), 0} end
  local refused = refuse_if_closed(caller) or refuse_if_full(caller) or refuse_if_paced(caller)
  if refused then return refused end
  local demands, wait = list_demands(caller), 0
  for _, demand in ipairs(demands) do
    if demand.limit > 0 then wait = math.max(wait, weigh(demand)) end
  end
  if wait > patience then return refuse(caller, wait, 'rate') end
  for _, demand in ipairs(demands) do
    if demand.after then put('next.' .. demand.name, demand.after) end
  end
  return grant(caller, wait)
end

for _, caller in ipairs(cjson.decode(ARGV[2])) do replies[#replies + 1] = serve(caller) end

write_gate()
if #entering > 0 then
  redis.call('ZADD', calls, unpack(entering))
  if changed.minute then
    sweep_calls()
    redis.call('PEXPIRE', calls, DAY_MS)
  end
end
if #served > 0 then redis.call('ZREM', waiting, unpack(served)) end
if #queueing > 0 then
  redis.call('ZREMRANGEBYSCORE', waiting, '-inf', now - 5000)
  redis.call('ZADD', waiting, unpack(queueing))
  redis.call('PEXPIRE', waiting, HOUR_MS)
end
return replies
