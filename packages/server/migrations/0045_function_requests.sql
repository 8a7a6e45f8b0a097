-- Requests of functions, which are counted by function. They are few among all.
select basalt.add_index('requests', 'requests_functions', '(happened_at desc, id desc) where starts_with(operation, ''functions'')');
