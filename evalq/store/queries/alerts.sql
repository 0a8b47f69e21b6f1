-- Alerts and their delivery.

-- add_alert --
-- Raise an alert; no row when its event was raised before.
INSERT INTO alerts (key, text, document) VALUES (%(key)s, %(text)s, %(document)s::jsonb)
ON CONFLICT (key) DO NOTHING RETURNING id;

-- open_deliveries --
-- Assign the alerts of the last day to every channel that does not have them.
INSERT INTO alert_deliveries (alert_id, channel)
SELECT a.id, channel FROM alerts a CROSS JOIN unnest(%(channels)s::text[]) AS channel
WHERE a.raised_at > now() - interval '1 day' ON CONFLICT DO NOTHING;

-- due_deliveries --
-- How many deliveries to some channels are due.
SELECT count(*) AS n FROM alert_deliveries
WHERE state = 'pending' AND not_before <= now() AND channel = ANY(%(channels)s);

-- claim_delivery --
-- Claim the next due delivery: it is due again after a wait that doubles from 15 seconds.
UPDATE alert_deliveries d SET attempts = d.attempts + 1,
       not_before = now() + least(interval '1 hour', interval '15 seconds' * 2 ^ least(d.attempts, 20))
FROM (
    SELECT alert_id, channel FROM alert_deliveries
    WHERE state = 'pending' AND not_before <= now() AND channel = ANY(%(channels)s)
    ORDER BY not_before LIMIT 1 FOR UPDATE SKIP LOCKED
) next, alerts a
WHERE d.alert_id = next.alert_id AND d.channel = next.channel AND a.id = d.alert_id
RETURNING d.alert_id, d.channel, d.attempts, a.key, a.text, a.document, a.raised_at;

-- end_delivery --
-- Mark a delivery as sent, or note its error; an alert older than a day is given up.
UPDATE alert_deliveries d
SET state = CASE WHEN %(error)s::text IS NULL THEN 'sent' WHEN a.raised_at < now() - interval '1 day' THEN 'failed'
            ELSE 'pending' END,
    sent_at = CASE WHEN %(error)s::text IS NULL THEN now() END, last_error = %(error)s
FROM alerts a WHERE a.id = d.alert_id AND d.alert_id = %(alert_id)s AND d.channel = %(channel)s AND d.state = 'pending';

-- alert_rows --
-- The newest alerts with the state of each delivery.
SELECT a.id, a.key, a.text, a.document, a.raised_at,
       coalesce(jsonb_agg(jsonb_build_object('channel', d.channel, 'state', d.state, 'attempts', d.attempts,
                'sent_at', d.sent_at, 'last_error', d.last_error) ORDER BY d.channel)
                FILTER (WHERE d.channel IS NOT NULL), '[]') AS deliveries
FROM alerts a LEFT JOIN alert_deliveries d ON d.alert_id = a.id GROUP BY a.id ORDER BY a.id DESC LIMIT %(limit)s;
