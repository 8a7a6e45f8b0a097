-- The parts of three characters that a text has, in lower case as far as they are ASCII. PostgreSQL's own GIN index finds the
-- users whose address has those of a search, without an extension. It costs more than any look at the row.
create function basalt.trigrams(value text) returns text[]
language sql immutable strict parallel safe cost 1000
return array(
  select substr(lower(value collate "C"), place, 3) from generate_series(1, length(value) - 2) place
);
revoke all on function basalt.trigrams(text) from public;

-- Few sign-ups wait in the list of what is to be inserted, which every search reads.
select basalt.add_index('users', 'users_trigrams',
  'using gin (basalt.trigrams(coalesce(email, '''') || '' '' || coalesce(phone, ''''))) with (gin_pending_list_limit = 256)');
select basalt.add_index('social_identities', 'social_identities_trigrams',
  'using gin (basalt.trigrams(name)) with (gin_pending_list_limit = 256)');

-- Disabled users, the newest first.
select basalt.add_index('users', 'users_disabled', '(created_at desc, id) where disabled_at is not null');
