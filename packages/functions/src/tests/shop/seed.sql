insert into product values (1, 'tea', 4.50, 10), (2, 'pot', 30, 1) on conflict do nothing;
