/** Statements that an empty server suggests: a table whose rows only their owners see. */
export const firstTable = `create table note (
  id bigint generated always as identity primary key,
  owner uuid not null default basalt.user_id(),
  text text not null
);`

export const firstPolicy = `alter table note enable row level security;
create policy own on note
  using (owner = basalt.user_id());`
