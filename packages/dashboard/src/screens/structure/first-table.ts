/** SQL that an empty server suggests: the columns of a first table. */
export const firstTable = `create table note (
  id bigint generated always as identity primary key,
  owner uuid not null default basalt.user_id(),
  text text not null
);`

/** SQL that shows the rows of the first table only to their owners. */
export const firstPolicy = `alter table note enable row level security;
create policy own on note
  using (owner = basalt.user_id());`
