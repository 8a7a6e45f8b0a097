create table product (id int primary key, name text not null, price numeric not null, stock int not null check (stock >= 0));
create table purchase (
  id int generated always as identity primary key,
  user_id uuid not null default basalt.user_id(),
  product_id int not null references product deferrable initially deferred,
  quantity int not null,
  total numeric not null
);
create table paid (purchase_id int primary key, event text not null);
alter table product enable row level security;
alter table purchase enable row level security;
alter table paid enable row level security;
create policy visible on product for select using (true);
create policy own on purchase for all using (user_id = basalt.user_id()) with check (user_id = basalt.user_id());
create policy closed on paid using (false);
create policy own on basalt.objects for all to basalt_authenticated using (user_id = basalt.user_id()) with check (user_id = basalt.user_id());
