-- GraphQL documents that clients may name by hash (docs/guides/graphql.md).
create table basalt.graphql_documents (
  -- SHA-256 of the text, in hexadecimal.
  hash text primary key check (hash ~ '^[0-9a-f]{64}$'),
  document text not null,
  created_at timestamptz not null default now()
);
