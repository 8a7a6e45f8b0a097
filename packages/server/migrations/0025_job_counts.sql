-- Jobs by state, as differences that are appended by the statement that changes jobs and added up when they are read: a
-- counter row would have every job wait for the one before. They are merged now and then (features/events/jobs/counts.ts).
create table basalt.job_counts (
  id bigint generated always as identity primary key,
  state text not null,
  jobs bigint not null
);
alter table basalt.job_counts set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

create function basalt.count_added_jobs() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  insert into basalt.job_counts (state, jobs) select state, count(*) from new_rows group by state;
  return null;
end $$;
revoke all on function basalt.count_added_jobs() from public;

create function basalt.count_changed_jobs() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  insert into basalt.job_counts (state, jobs)
  select state, sum(difference)
  from (select state, 1 as difference from new_rows union all select state, -1 from old_rows) change
  group by state having sum(difference) <> 0;
  return null;
end $$;
revoke all on function basalt.count_changed_jobs() from public;

create function basalt.count_removed_jobs() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'TRUNCATE' then
    delete from basalt.job_counts;
  else
    insert into basalt.job_counts (state, jobs) select state, -count(*) from old_rows group by state;
  end if;
  return null;
end $$;
revoke all on function basalt.count_removed_jobs() from public;

create trigger jobs_added after insert on basalt.jobs
  referencing new table as new_rows for each statement execute function basalt.count_added_jobs();
create trigger jobs_changed after update on basalt.jobs
  referencing new table as new_rows old table as old_rows for each statement
  execute function basalt.count_changed_jobs();
create trigger jobs_removed after delete on basalt.jobs
  referencing old table as old_rows for each statement execute function basalt.count_removed_jobs();
create trigger jobs_truncated after truncate on basalt.jobs
  for each statement execute function basalt.count_removed_jobs();

-- The triggers keep writers waiting until this transaction ends, so that none is missed.
insert into basalt.job_counts (state, jobs) select state, count(*) from basalt.jobs group by state;
