-- The state of one gate: read once, changed in memory, written once. First of three parts of one script: then calls
-- are settled (settle_permits.lua), which makes room, then permits are taken (take_permits.lua).
--
-- KEYS  1 gate (hash)  2 calls in flight (sorted set: call -> when it is given up for dead, ms)
--       3 callers waiting (sorted set: call -> when it expects to go, ms)
-- Gate  next.requests, next.input, next.output: when the next unit is free (GCRA's theoretical arrival time, ms)
--       learned.*: limits from the provider's headers   closed_until: no call before (429)
--       pace: requests a minute learned from 429s, next.pace its next free unit, epoch how often it was lowered
--       top: the rate at which the pace was lowered   streak: times in a row without an answer in between
--       limited_at: when the pace last made a caller wait   next.later: when the next caller sent away comes back
--       ok, ok_since, ok_before, ok_before_since: answers of these ten seconds and of the ten before
--       failures, failing_since: failures in a row   window, counted, failed: what the breaker has seen
--       open_until, cool_down, probe_until, probe: the breaker and the call that tries it
--       room: calls in flight that the provider takes well, learned; room.n, room.ms: answers of this round and their
--       time; room.base: the shortest mean of a round; room.pressed: whether a caller found all places taken
--       retries: what is left of the retry budget
--       minute, granted, granted_before: permits this minute and the last
-- Time is the server's: the clocks of the workers do not matter. All callers of a batch have the same time.
-- The gate is written after every caller is decided, so a script that fails leaves it as it was.

local DAY_MS, HOUR_MS = 86400000, 3600000
local gate, calls, waiting = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000

local state, changed = {}, {}
local stored = redis.call('HGETALL', gate)
for at = 1, #stored, 2 do state[stored[at]] = stored[at + 1] end

local function field(name) return tonumber(state[name] or 0) end

local function put(name, value) state[name], changed[name] = value, true end

local function add(name, amount)
  local sum = field(name) + amount
  put(name, sum)
  return sum
end

local function forget(...)
  for _, name in ipairs({...}) do
    if state[name] then put(name, nil) end
  end
end

local function write_gate()
  local set, gone = {}, {}
  for name in pairs(changed) do
    if state[name] == nil then
      gone[#gone + 1] = name
    else
      set[#set + 1] = name
      set[#set + 1] = state[name]
    end
  end
  if #gone > 0 then redis.call('HDEL', gate, unpack(gone)) end
  if #set > 0 then redis.call('HSET', gate, unpack(set)) end
  -- A gate is kept for a day after its last permit; once a minute is often enough to say so.
  if #stored == 0 or changed.minute then redis.call('PEXPIRE', gate, DAY_MS) end
end

-- The smaller of what is configured (nil: nothing) and what the provider's headers said.
local function limit_of(name, configured)
  local learned = field('learned.' .. name)
  if not configured then return learned end
  if learned <= 0 then return configured end
  return math.min(configured, learned)
end

local replies = {}  -- of the calls to settle, then of the callers, in their order
