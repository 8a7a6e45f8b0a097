-- The ended attempts of a job, the latest last: {attempt, status, startedAt, finishedAt, error?}. Nodes of the previous version
-- add none.
alter table basalt.jobs add column runs jsonb not null default '[]';
