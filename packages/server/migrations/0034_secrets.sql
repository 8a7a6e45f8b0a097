-- Secrets of the operator's own code, sealed by the server's key (lib/secret-box.ts) in the context of their name.
create table basalt.secrets (
  name text primary key,
  value text not null,
  updated_at timestamptz not null default now()
);
