-- Acknowledge some messages and fetch others, with a receipt for each, in one step: nothing is popped and then lost.
--
-- KEYS  1 unacked, by time of delivery (sorted set)  2 unacked (hash: tag -> receipt)  3… queues, the next one first
-- ARGV  1 now, s  2 how many to fetch  3… tags to acknowledge
-- Reply for each message: its queue, the message, 1 if its receipt is written (0: its tag was not found)

if #ARGV > 2 then
  redis.call('ZREM', KEYS[1], unpack(ARGV, 3))
  redis.call('HDEL', KEYS[2], unpack(ARGV, 3))
end

-- As kombu writes it, so that kombu can restore the message: [message, exchange, routing key].
local function receipt(message, queue) return '[' .. message .. ', "", ' .. cjson.encode(queue) .. ']' end

local now, left, queues = ARGV[1], tonumber(ARGV[2]), {unpack(KEYS, 3)}
local reply, times, receipts = {}, {}, {}
while left > 0 and #queues > 0 do
  local command = {'LMPOP', #queues}
  for _, queue in ipairs(queues) do command[#command + 1] = queue end
  for _, word in ipairs({'RIGHT', 'COUNT', left}) do command[#command + 1] = word end
  local popped = redis.call(unpack(command))
  if not popped then break end
  local queue, messages = popped[1], popped[2]
  for _, message in ipairs(messages) do
    local tag = string.match(message, '"delivery_tag": ?"([^"\\]+)"')
    reply[#reply + 1] = queue
    reply[#reply + 1] = message
    reply[#reply + 1] = tag and 1 or 0
    if tag then
      times[#times + 1], times[#times + 2] = now, tag
      receipts[#receipts + 1], receipts[#receipts + 2] = tag, receipt(message, queue)
    end
  end
  left = left - #messages
  for place = #queues, 1, -1 do
    if queues[place] == queue then table.remove(queues, place) end
  end
end
if #times > 0 then
  redis.call('ZADD', KEYS[1], unpack(times))
  redis.call('HSET', KEYS[2], unpack(receipts))
end
return reply
