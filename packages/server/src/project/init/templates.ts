/** The files of a new project by their path, before its first migration has a time. */
export function projectFiles(name: string, version: string): Readonly<Record<string, string>> {
  return {
    'basalt.toml': configuration,
    'seed.sql': seed,
    'schema/current.sql': emptyCurrent,
    '.gitignore': ignored,
    'AGENTS.md': agents,
    'package.json': packageJson(name, version),
  }
}

/** What a project begins with that has no migrations yet. */
export const firstMigration = {
  title: 'create_todo',
  content: `-- The first table, to be kept or replaced. Everybody sees and changes what is theirs.
create table todo (
  id bigint generated always as identity primary key,
  owner_id uuid not null default basalt.user_id() references basalt.users on delete cascade,
  title text not null check (title <> ''),
  done bool not null default false,
  created_at timestamptz not null default now()
);
create index on todo (owner_id);

alter table todo enable row level security;
create policy own on todo
  using (owner_id = basalt.user_id())
  with check (owner_id = basalt.user_id());
`,
  policies: `# Who sees and changes which rows of todo: \`basalt policy test\` runs these cases.

setup = """
insert into todo (owner_id, title) values (:'alice', 'water the plants'), (:'bob', 'buy bread');
"""

[users.alice]
[users.bob]

[[case]]
name = "users see what is theirs"
as = "alice"
list = "todo"
rows = [{ title = "water the plants" }]

[[case]]
name = "users add rows of their own"
as = "bob"
create = "todo"
values = { title = "call home" }
row = { owner_id = ":bob", done = false }

[[case]]
name = "users add no rows for others"
as = "bob"
create = "todo"
values = { title = "call home", owner_id = ":alice" }
refused = true

[[case]]
name = "without a token there is nothing to see"
as = "anonymous"
list = "todo"
refused = true
`,
} as const

const configuration = `# Every key: https://github.com/basaltdb/basalt (docs/generated/configuration.md), or \`npx basalt config\`.
# Secrets belong into the environment, such as BASALT_AUTH_JWT_SECRET.

[server]
port = 8090

[database]
# Tables without row-level security are kept from everybody but administrators.
require_rls = true

[project]
# \`basalt dev\` writes it; \`createClient<Database>\` of @basaltdb/client takes its types.
types = "types/database.ts"
`

const seed = `-- Rows for development, run by \`basalt db seed\` and \`basalt dev\`. It runs again and again: write
-- \`on conflict do nothing\`.
`

/** `schema/current.sql` without a change. */
export const emptyCurrent = `-- The change you work on. \`basalt dev\` applies this file whenever it is saved, so every statement has to work twice:
-- \`create table if not exists\`, \`create or replace function\`, \`drop policy if exists\` before \`create policy\`.
-- \`basalt migrate commit NAME\` makes a migration of it and empties it.
`

const ignored = `node_modules/
.basalt/
.env
`

const agents = `# Conventions of this project

The backend is Basalt: PostgreSQL with row-level security, served as REST collections. There is no server code here; the
schema is the program.

- \`migrations/\`: SQL files, applied in the order of their names, each once. Never change one that was applied: make
  another by \`npx basalt migrate new NAME\`. Each is one transaction; \`create index concurrently\` needs a file of its own
  that begins with \`-- basalt: no transaction\`.
- \`schema/current.sql\`: the change in progress. Every statement works twice. \`npx basalt migrate commit NAME\` freezes it.
- Every table: \`alter table … enable row level security\` and policies, in the migration that creates it. Policies ask
  \`basalt.user_id()\`, \`basalt.aal()\`, \`basalt.claims()\`.
- \`tests/policies/\`: cases for every table, \`npx basalt policy scaffold TABLE\` writes a starter. Run
  \`npx basalt policy test\` before every commit.
- \`seed.sql\`: rows for development only; it works twice.
- \`npx basalt migrate check\` before a deployment says which locks are taken, what is rewritten and who may do more.
- Never \`npx basalt db reset\` anything but a database for development; it refuses others.
- Secrets are environment variables, never in basalt.toml.

Commands of \`migrate\`, \`policy\` and \`db\` (but \`dump\`) take \`--json\`; exit codes: 0 done, 1 failed, 2 wrong usage.
`

function packageJson(name: string, version: string): string {
  const content = {
    name,
    private: true,
    type: 'module',
    scripts: {
      dev: 'basalt dev',
      start: 'basalt start',
      migrate: 'basalt migrate up',
      test: 'basalt policy test',
    },
    dependencies: { basaltdb: `^${version}` },
  }
  return `${JSON.stringify(content, undefined, 2)}\n`
}
