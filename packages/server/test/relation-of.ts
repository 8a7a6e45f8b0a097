import { buildCatalog } from '../src/database/catalog/build.ts'
import type { Relation } from '../src/database/catalog/model.ts'
import type { TypeName } from '../src/database/sql.ts'

/** Describes a table of text columns as the catalog would, for tests without a database. */
export function relationOf(columns: readonly string[], primaryKey: readonly string[]): Relation {
  const relation = {
    oid: '1',
    schema: 'public',
    name: 'sample',
    kind: 'r',
    comment: null,
    rls_enabled: false,
    has_descendants: false,
    partition_of: null,
    is_of_extension: false,
    is_bypassed: true,
    schema_usable: true,
    can_select: true,
    can_select_all: true,
    can_insert: true,
    can_update: true,
    can_delete: true,
    anonymous_schema_usable: false,
    anonymous_privileges: [],
    anonymous_can_select_all: false,
  } as const
  const text = {
    oid: '25',
    name: 'text',
    version: '1',
    schema: 'pg_catalog',
    full_name: 'text' as TypeName,
    kind: 'b',
    category: 'S',
    base_oid: '0',
    not_null: false,
    default: null,
    element_oid: '0',
    has_equality: true,
    has_order: true,
    operators: null,
    labels: null,
    attributes: null,
  } as const
  const key = {
    relation_oid: '1',
    name: 'sample_pkey',
    kind: 'p',
    columns: primaryKey.map((name) => columns.indexOf(name) + 1),
    referenced_oid: '0',
    referenced_columns: null,
    on_update: ' ',
    on_delete: ' ',
    definition: '',
    comment: null,
    is_inherited: false,
    has_period: false,
  } as const
  const { relations } = buildCatalog(
    {
      fingerprint: '',
      relations: [relation],
      columns: columns.map((name, index) => ({
        relation_oid: '1',
        name,
        position: index + 1,
        type: text.full_name,
        type_oid: '25',
        nullable: !primaryKey.includes(name),
        default: null,
        identity: '',
        generated: '',
        comment: null,
        can_select: true,
        anonymous_can_select: false,
        version: '1',
      })),
      types: [text],
      constraints: primaryKey.length === 0 ? [] : [key],
      indexes: [],
      policies: [],
      rlsGaps: [],
      functions: [],
      extensions: [],
    },
    { schemas: ['public'] },
    new Date(0),
  )
  const found = relations.get('sample')
  if (found === undefined) throw new Error('the sample is missing')
  return found
}
