-- Schedules that functions of the operator define. They follow the live deploy.
alter table basalt.schedules add column is_of_function bool not null default false;
