-- Functions of the operator that handle changes. Each is a receiver of the queue of webhooks, without an address. It is disabled
-- when the live deploy no longer has it.
alter table basalt.webhooks add column function_name text unique;
