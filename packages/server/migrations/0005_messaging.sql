-- Custom templates of mail; one whose key is that of a built-in takes its place.
create table basalt.email_templates (
  id uuid primary key default gen_random_uuid(),
  template_key text not null unique,
  subject_template text not null,
  html_template text not null,
  -- Names of the placeholders in both.
  variables text[] not null,
  enabled bool not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
