-- Deploys whose packages each node installs, as the lockfile of the deploy says.
alter table basalt.function_deploys add column installs bool not null default false;

-- Files of functions, which are few among those of packages.
select basalt.add_index('function_files', 'function_files_functions', '(hash, path) where path ~ ''^functions/[^/]+[.][cm]?[jt]s$''');
