insert into product values (1, 'tea', 4.50, 10), (2, 'pot', 30, 1) on conflict do nothing;
insert into basalt.buckets (name, is_public) values ('receipts', false) on conflict do nothing;
