-- Deploys whose packages each node installs, as the lockfile of the deploy says.
alter table basalt.function_deploys add column installs bool not null default false;
