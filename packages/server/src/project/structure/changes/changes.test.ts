import { describe, expect, test } from 'vitest'
import { splitStatements } from '../../../lib/sql-statements.ts'
import { compileChange } from './compile.ts'
import { parseChange } from './parse.ts'

const of = { schema: 'public', name: 'todo' }

function compile(change: Record<string, unknown>): string {
  return compileChange(parseChange({ ...of, ...change }))
}

/** Changes as a form sends them, with their SQL. */
const statements: readonly (readonly [Record<string, unknown>, string])[] = [
  [{ kind: 'create_table', columns: [], hasRowLevelSecurity: false }, 'create table public.todo ();\n'],
  [
    {
      kind: 'create_table',
      comment: "what's to do",
      columns: [
        { name: 'id', type: 'bigint', identity: 'always', isPrimaryKey: true },
        { name: 'owner_id', type: 'uuid', isNullable: false, default: 'basalt.user_id()' },
        { name: 'order', type: 'numeric(10, 2)', isUnique: true, comment: 'rank' },
        {
          name: 'list',
          type: 'int',
          references: { schema: 'public', name: 'list', columns: ['id'], onDelete: 'set null' },
        },
      ],
      template: { name: 'owner', column: 'owner_id' },
    },
    `create table public.todo (
  id bigint generated always as identity primary key,
  owner_id uuid not null default basalt.user_id(),
  "order" numeric(10, 2) unique,
  list int references public.list (id) on delete set null
);
create index on public.todo (owner_id);
comment on table public.todo is 'what''s to do';
comment on column public.todo."order" is 'rank';
alter table public.todo enable row level security;
create policy own on public.todo to basalt_authenticated
  using (owner_id = basalt.user_id())
  with check (owner_id = basalt.user_id());
`,
  ],
  [
    {
      kind: 'create_table',
      columns: [
        { name: 'a', type: 'int', isPrimaryKey: true },
        { name: 'b', type: 'int', isPrimaryKey: true },
      ],
    },
    `create table public.todo (
  a int,
  b int,
  primary key (a, b)
);
alter table public.todo enable row level security;
`,
  ],
  [{ kind: 'rename_table', to: 'To Do' }, 'alter table public.todo rename to "To Do";\n'],
  [{ kind: 'comment_table', comment: '' }, 'comment on table public.todo is null;\n'],
  [{ kind: 'drop_relation', relationKind: 'table', cascade: true }, 'drop table public.todo cascade;\n'],
  [
    { kind: 'set_grants', role: 'basalt_anonymous', privileges: ['select'] },
    `grant select on public.todo to basalt_anonymous;
revoke insert, update, delete on public.todo from basalt_anonymous;
`,
  ],
  [
    { kind: 'add_column', column: { name: 'done', type: 'bool', isNullable: false, default: 'false' } },
    'alter table public.todo add column done bool not null default false;\n',
  ],
  [
    {
      kind: 'alter_column',
      column: 'a',
      to: 'b',
      type: 'int',
      using: 'a::int',
      default: null,
      isNullable: false,
    },
    `alter table public.todo alter column a type int using a::int;
alter table public.todo alter column a drop default;
alter table public.todo alter column a set not null;
alter table public.todo rename column a to b;
`,
  ],
  [{ kind: 'drop_column', column: 'a' }, 'alter table public.todo drop column a;\n'],
  [
    { kind: 'create_index', keys: ['lower(title)', 'id desc'], isUnique: true, where: 'not done' },
    'create unique index on public.todo (lower(title), id desc) where not done;\n',
  ],
  [
    { kind: 'create_index', index: 'by_tag', method: 'gin', keys: ['tags'], include: [], isConcurrent: true },
    '-- basalt: no transaction\ncreate index concurrently by_tag on public.todo using gin (tags);\n',
  ],
  [
    { kind: 'drop_index', isConcurrent: true },
    '-- basalt: no transaction\ndrop index concurrently public.todo;\n',
  ],
  [{ kind: 'add_primary_key', columns: ['id'] }, 'alter table public.todo add primary key (id);\n'],
  [
    { kind: 'add_unique', constraint: 'once', columns: ['a', 'b'] },
    'alter table public.todo add constraint once unique (a, b);\n',
  ],
  [
    { kind: 'add_check', check: "title <> ''", isValidated: false },
    "alter table public.todo add check (title <> '') not valid;\n",
  ],
  [
    {
      kind: 'add_foreign_key',
      columns: ['list'],
      references: { schema: 'public', name: 'list', columns: ['id'], onUpdate: 'cascade' },
      isValidated: false,
    },
    'alter table public.todo add foreign key (list) references public.list (id) on update cascade not valid;\n',
  ],
  [{ kind: 'validate_constraint', constraint: 'c' }, 'alter table public.todo validate constraint c;\n'],
  [
    { kind: 'rename_constraint', constraint: 'c', to: 'd' },
    'alter table public.todo rename constraint c to d;\n',
  ],
  [{ kind: 'drop_constraint', constraint: 'c' }, 'alter table public.todo drop constraint c;\n'],
  [{ kind: 'create_enum', values: ['a', "b'"] }, "create type public.todo as enum ('a', 'b''');\n"],
  [{ kind: 'add_enum_value', value: 'c', after: 'a' }, "alter type public.todo add value 'c' after 'a';\n"],
  [{ kind: 'rename_enum_value', value: 'a', to: 'b' }, "alter type public.todo rename value 'a' to 'b';\n"],
  [{ kind: 'rename_type', to: 'mood' }, 'alter type public.todo rename to mood;\n'],
  [{ kind: 'drop_type' }, 'drop type public.todo;\n'],
  [
    { kind: 'set_row_level_security', isEnabled: true, isForced: true },
    'alter table public.todo enable row level security;\nalter table public.todo force row level security;\n',
  ],
  [
    {
      kind: 'apply_template',
      template: {
        name: 'members',
        column: 'team_id',
        through: { schema: 'public', name: 'member', teamColumn: 'team_id', userColumn: 'user_id' },
      },
    },
    `alter table public.todo enable row level security;
create policy members on public.todo to basalt_authenticated
  using (team_id = any (array(select m.team_id from public.member m where m.user_id = basalt.user_id())))
  with check (exists (select from public.member m where m.user_id = basalt.user_id() and m.team_id = public.todo.team_id));
`,
  ],
  [
    { kind: 'apply_template', template: { name: 'public' } },
    `alter table public.todo enable row level security;
create policy read on public.todo for select to basalt_anonymous, basalt_authenticated
  using (true);
grant select on public.todo to basalt_anonymous;
`,
  ],
  [
    { kind: 'apply_template', template: { name: 'signed in' } },
    `alter table public.todo enable row level security;
create policy read on public.todo for select to basalt_authenticated
  using (true);
`,
  ],
  [
    { kind: 'apply_template', template: { name: 'administrators' } },
    'alter table public.todo enable row level security;\n',
  ],
  [
    {
      kind: 'create_policy',
      policy: 'p',
      command: 'update',
      roles: ['public', 'basalt_authenticated'],
      isPermissive: false,
      using: 'true',
      check: 'a > 0',
    },
    `create policy p on public.todo
  as restrictive
  for update
  to public, basalt_authenticated
  using (true)
  with check (a > 0);
`,
  ],
  [
    { kind: 'alter_policy', policy: 'p', to: 'q', using: 'false' },
    `alter policy p on public.todo
  using (false);
alter policy p on public.todo rename to q;
`,
  ],
  [{ kind: 'drop_policy', policy: 'p' }, 'drop policy p on public.todo;\n'],
  [{ kind: 'drop_trigger', trigger: 't' }, 'drop trigger t on public.todo;\n'],
  [{ kind: 'set_trigger', trigger: 't', isEnabled: false }, 'alter table public.todo disable trigger t;\n'],
  [
    { kind: 'drop_function', functionKind: 'procedure', arguments: 'a integer, b text', cascade: true },
    'drop procedure public.todo(a integer, b text) cascade;\n',
  ],
]

const refusals: readonly (readonly [unknown, string])[] = [
  [{ kind: 'add_colum', ...of }, 'change.kind: expected one of create_table, '],
  [null, 'change.kind: expected one of create_table, '],
  [{ kind: 'toString', ...of }, 'change.kind: expected one of create_table, '],
  [{ kind: 'drop_column', ...of }, 'change.column: is required'],
  [{ kind: 'drop_column', ...of, column: '' }, 'change.column: must not have fewer than 1 characters'],
  [{ kind: 'drop_column', ...of, column: 'a', force: true }, 'change.force: is no member of this change'],
  [
    { kind: 'create_policy', ...of, policy: 'p', command: 'truncate', using: 'true' },
    'change.command: expected one of all, select,',
  ],
  [
    { kind: 'create_policy', ...of, policy: 'p' },
    'change.using: expected a condition here or in change.check',
  ],
  [{ kind: 'alter_policy', ...of, policy: 'p' }, 'change: expected at least one of to, roles, using, check'],
  [
    { kind: 'alter_column', ...of, column: 'a' },
    'change: expected at least one of to, type, default, isNullable, comment',
  ],
  [
    { kind: 'add_check', ...of, check: 'true); drop table todo; --' },
    'change.check: expected one expression of SQL',
  ],
  [{ kind: 'add_check', ...of, check: 'a) or (b' }, 'change.check: expected one expression of SQL'],
  [{ kind: 'add_check', ...of, check: 'a > (1' }, 'change.check: expected one expression of SQL'],
  [{ kind: 'add_check', ...of, check: 'true -- why' }, 'change.check: expected one expression of SQL'],
  [{ kind: 'add_check', ...of, check: ' ' }, 'change.check: expected one expression of SQL'],
  [
    { kind: 'drop_function', ...of, arguments: 'int); drop table a; select (1' },
    'change.arguments: expected the types of the arguments',
  ],
  [
    { kind: 'add_enum_value', ...of, value: 'c', before: 'a', after: 'b' },
    'change.after: expected one of before and after, not both',
  ],
  [
    { kind: 'apply_template', ...of, template: { name: 'owner' } },
    'change.template.column: expected a column of the table',
  ],
  [
    { kind: 'apply_template', ...of, template: { name: 'members', column: 'a' } },
    'change.template.through: expected the table that has who belongs to which team',
  ],
  [
    { kind: 'create_table', ...of, columns: [], template: { name: 'owner', column: 'a' } },
    'change.template.column: there is no column a',
  ],
  [
    { kind: 'create_table', ...of, columns: [{ name: 'a', type: 'int', identity: 'always', default: '1' }] },
    'change.columns.0.default: an identity column has no default',
  ],
  [{ kind: 'create_enum', ...of, values: ['a\0'] }, 'change: a text cannot have the character NUL'],
]

describe('compileChange', () => {
  test.each(statements)('turns %j into SQL as a person would write it', (change, expected) => {
    const text = compile(change)
    expect(text).toBe(expected)
    expect(splitStatements(text).length).toBeGreaterThan(0)
  })

  test.each(refusals)('rejects %j and names the invalid member', (change, message) => {
    expect(() => compileChange(parseChange(change))).toThrow(message)
  })

  test('quotes every name that is not plain, so that no name ends its statement', () => {
    const hostile = '"; drop table a; --'
    expect(compile({ kind: 'rename_table', name: 'user', to: hostile })).toBe(
      'alter table public."user" rename to """; drop table a; --";\n',
    )
    expect(splitStatements(compile({ kind: 'drop_policy', policy: hostile, name: hostile }))).toHaveLength(1)
  })
})
