-- Requests of functions, which are counted by function. They are few among all. Requests of administrators about functions are excluded.
select basalt.add_index('requests', 'requests_functions', '(happened_at desc, id desc) where starts_with(operation, ''functions'') and not starts_with(path, ''/api/admin/'')');
