create table list (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  owner_id uuid not null default basalt.user_id(),
  -- Who knows it may join.
  invitation uuid not null default gen_random_uuid()
);
create index on list (owner_id);

create table member (
  list_id uuid references list on delete cascade,
  user_id uuid,
  primary key (list_id, user_id)
);
create index on member (user_id);

create table todo (
  id int primary key generated always as identity,
  list_id uuid not null references list on delete cascade,
  title text not null,
  done boolean not null default false,
  -- The name of an object in the bucket "attachments".
  attachment text
);
create index on todo (list_id);

alter table list enable row level security;
alter table member enable row level security;
alter table todo enable row level security;

create policy own on list using (owner_id = basalt.user_id());
create policy shared on list for select
  using (id = any (array(select list_id from member where user_id = basalt.user_id())));
create policy own on member for select using (user_id = basalt.user_id());
-- The lists that one may see: an index finds the rows of an array.
create policy of_list on todo using (list_id = any (array(select id from list)));

create function join_list(invitation uuid) returns void
language sql security definer set search_path = ''
as $$
  insert into public.member (list_id, user_id)
  select id, basalt.user_id() from public.list where list.invitation = join_list.invitation
  on conflict do nothing
$$;
revoke execute on function join_list(uuid) from public;
grant execute on function join_list(uuid) to basalt_authenticated;

insert into basalt.buckets (name, is_public, max_file_size) values ('attachments', false, 10000000);
-- An object is named by its list first: who sees the list sees the object.
create policy of_list on basalt.objects to basalt_authenticated
  using (bucket = 'attachments' and split_part(name, '/', 1) in (select id::text from list));
