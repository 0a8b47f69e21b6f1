-- Whether a gate is closed by a 429, held open by the breaker, or slower than when a permit was reserved.
-- KEYS  1 gate (hash)      ARGV  1 epoch of the permit      Reply 1 if it is shut, else 0.

local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
for _, name in ipairs({'closed_until', 'open_until'}) do
  if tonumber(redis.call('HGET', KEYS[1], name) or '0') > now then return 1 end
end
if tonumber(redis.call('HGET', KEYS[1], 'epoch') or '0') ~= tonumber(ARGV[1]) then return 1 end
return 0
