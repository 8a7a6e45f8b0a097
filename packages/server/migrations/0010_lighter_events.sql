-- A row of the log is written with every write that somebody listens to. What made it slower than need be: an id that
-- can as well be made when the event is taken, and a check that each statement prepares anew.
alter table basalt.outbox drop column event_id, drop constraint outbox_action_check;

-- An event enters a queue in the transaction that makes its id.
alter table basalt.webhook_queue drop constraint webhook_queue_webhook_id_event_id_key;
