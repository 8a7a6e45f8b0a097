import { type Static, type TObject, Type } from '../../../lib/type.ts'

/** Name of an object. PostgreSQL truncates names after 63 bytes. */
const text = Type.String({ minLength: 1, maxLength: 63 })
const sqlText = Type.String({ minLength: 1, maxLength: 100_000 })
const columns = Type.Array(text, { minItems: 1, maxItems: 32 })
const closed = { additionalProperties: false }
const action = Type.Enum(['no action', 'restrict', 'cascade', 'set null', 'set default'])

const references = Type.Object(
  {
    schema: text,
    name: text,
    columns,
    onDelete: Type.Optional(action),
    onUpdate: Type.Optional(action),
  },
  closed,
)

const column = Type.Object(
  {
    name: text,
    type: sqlText,
    isNullable: Type.Optional(Type.Boolean()),
    default: Type.Optional(sqlText),
    identity: Type.Optional(Type.Enum(['always', 'by default'])),
    isPrimaryKey: Type.Optional(Type.Boolean()),
    isUnique: Type.Optional(Type.Boolean()),
    references: Type.Optional(references),
    comment: Type.Optional(Type.String()),
  },
  closed,
)

const templateNames = ['owner', 'members', 'signed in', 'public', 'administrators'] as const

const template = Type.Object(
  {
    name: Type.Enum([...templateNames]),
    /** Column of the row's owner (`owner`), or of its team (`members`). */
    column: Type.Optional(text),
    /** Table of the team memberships (`members`). */
    through: Type.Optional(
      Type.Object({ schema: text, name: text, teamColumn: text, userColumn: text }, closed),
    ),
  },
  closed,
)

const policy = {
  command: Type.Optional(Type.Enum(['all', 'select', 'insert', 'update', 'delete'])),
  roles: Type.Optional(Type.Array(text, { maxItems: 100 })),
  isPermissive: Type.Optional(Type.Boolean()),
  using: Type.Optional(sqlText),
  check: Type.Optional(sqlText),
}

/** Members by change; each change also has `schema` and `name` of its object. */
const members = {
  create_table: {
    columns: Type.Array(column, { maxItems: 1600 }),
    comment: Type.Optional(Type.String()),
    hasRowLevelSecurity: Type.Optional(Type.Boolean()),
    template: Type.Optional(template),
  },
  rename_table: { to: text },
  comment_table: { comment: Type.String() },
  drop_relation: {
    relationKind: Type.Enum(['table', 'view', 'materialized view', 'foreign table', 'sequence']),
    cascade: Type.Optional(Type.Boolean()),
  },
  add_column: { column },
  alter_column: {
    column: text,
    to: Type.Optional(text),
    type: Type.Optional(sqlText),
    using: Type.Optional(sqlText),
    default: Type.Optional(Type.Union([sqlText, Type.Null()])),
    isNullable: Type.Optional(Type.Boolean()),
    comment: Type.Optional(Type.String()),
  },
  drop_column: { column: text, cascade: Type.Optional(Type.Boolean()) },
  set_row_level_security: { isEnabled: Type.Boolean(), isForced: Type.Optional(Type.Boolean()) },
  set_grants: {
    role: text,
    privileges: Type.Array(Type.Enum(['select', 'insert', 'update', 'delete'])),
  },
  create_index: {
    index: Type.Optional(text),
    method: Type.Optional(Type.Enum(['btree', 'hash', 'gin', 'gist', 'spgist', 'brin'])),
    /** Names of columns, or expressions in parentheses, each with an optional `desc` or operator class. */
    keys: Type.Array(sqlText, { minItems: 1, maxItems: 32 }),
    include: Type.Optional(Type.Array(text, { maxItems: 32 })),
    where: Type.Optional(sqlText),
    isUnique: Type.Optional(Type.Boolean()),
    isConcurrent: Type.Optional(Type.Boolean()),
  },
  drop_index: { isConcurrent: Type.Optional(Type.Boolean()) },
  add_primary_key: { columns },
  add_unique: { constraint: Type.Optional(text), columns },
  add_check: { constraint: Type.Optional(text), check: sqlText, isValidated: Type.Optional(Type.Boolean()) },
  add_foreign_key: {
    constraint: Type.Optional(text),
    columns,
    references,
    isValidated: Type.Optional(Type.Boolean()),
  },
  validate_constraint: { constraint: text },
  rename_constraint: { constraint: text, to: text },
  drop_constraint: { constraint: text, cascade: Type.Optional(Type.Boolean()) },
  create_enum: { values: Type.Array(text, { minItems: 1, maxItems: 1000 }) },
  add_enum_value: { value: text, before: Type.Optional(text), after: Type.Optional(text) },
  rename_enum_value: { value: text, to: text },
  rename_type: { to: text },
  drop_type: { cascade: Type.Optional(Type.Boolean()) },
  apply_template: { template },
  create_policy: { policy: text, ...policy },
  alter_policy: {
    policy: text,
    to: Type.Optional(text),
    roles: policy.roles,
    using: policy.using,
    check: policy.check,
  },
  drop_policy: { policy: text },
  drop_trigger: { trigger: text },
  set_trigger: { trigger: text, isEnabled: Type.Boolean() },
  drop_function: {
    arguments: Type.String({ maxLength: 10_000 }),
    functionKind: Type.Optional(Type.Enum(['function', 'procedure', 'aggregate'])),
    cascade: Type.Optional(Type.Boolean()),
  },
} as const

export type Members = typeof members
export type ChangeKind = keyof Members

/** Change that a form of the dashboard sends. */
export type ChangeOf<Kind extends ChangeKind> = { readonly kind: Kind } & Static<TObject<Members[Kind]>> & {
    readonly schema: string
    readonly name: string
  }
export type Change = { [Kind in ChangeKind]: ChangeOf<Kind> }[ChangeKind]

export type ColumnInput = Static<typeof column>
export type TemplateInput = Static<typeof template>
export type ReferencesInput = Static<typeof references>

export const changeKinds = Object.keys(members) as ChangeKind[]

/** Schemas by kind of change. */
export const changeSchemas: Readonly<Record<string, TObject>> = Object.fromEntries(
  changeKinds.map((kind) => [
    kind,
    Type.Object({ kind: Type.Literal(kind), schema: text, name: text, ...members[kind] }, closed),
  ]),
)
