-- Objects of a user in the order of names: a list under `user_id = basalt.user_id()` reads its page there, whether the caller
-- has two objects of a million or a third of them. It finds what the index of users alone found.
select basalt.add_index('objects', 'objects_user_name', '(user_id, bucket, name)', 'objects_user_id');
