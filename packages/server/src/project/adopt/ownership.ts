import type { Catalog, Relation } from '../../database/catalog/model.ts'
import { startsIndex } from '../../database/catalog/policy-expressions.ts'
import { quoteIdentifier } from '../../database/sql.ts'
import { isTable, quoted } from './names.ts'
import type { People } from './people.ts'

/** Way from a table to people: every foreign key of the shortest length, each with the way of its table. */
export interface Ownership {
  readonly table: Relation
  /** Empty for the table of people itself. */
  readonly keys: readonly OwnershipKey[]
}

export interface OwnershipKey {
  readonly columns: readonly string[]
  readonly parent: Ownership
  readonly parentColumns: readonly string[]
}

/** Finds the tables whose foreign keys lead to people, by the fewest steps. Pure. */
export function findOwnerships(
  { relations }: Pick<Catalog, 'relations'>,
  people: Relation,
  isOpen: (table: Relation) => boolean = () => true,
): Map<Relation, Ownership> {
  const byName = new Map([...relations.values()].map((table) => [quoted(table), table]))
  const found = new Map<Relation, Ownership>([[people, { table: people, keys: [] }]])
  for (let level = [...found.keys()]; level.length > 0; ) {
    const next = new Map<Relation, Ownership>()
    for (const table of relations.values()) {
      if (found.has(table) || !isTable(table) || !isOpen(table)) continue
      const keys = table.foreignKeys.flatMap(
        ({ columns, referencedSchema, referencedTable, referencedColumns }) => {
          const parent = byName.get(quoted({ schema: referencedSchema, name: referencedTable }))
          const ownership = parent === undefined ? undefined : found.get(parent)
          return ownership === undefined || !level.includes(ownership.table)
            ? []
            : [{ columns, parent: ownership, parentColumns: referencedColumns }]
        },
      )
      if (keys.length > 0) next.set(table, { table, keys })
    }
    for (const [table, ownership] of next) found.set(table, ownership)
    level = [...next.keys()]
  }
  return found
}

/** Describes the way: `invoice_id → invoice, customer_id → customer`. */
export function describeOwnership({ table, keys }: Ownership): string {
  if (keys.length === 0) return table.rowKey.map(({ name }) => name).join(', ')
  return keys
    .map(({ columns, parent }) => {
      const rest = parent.keys.length === 0 ? '' : `, ${describeOwnership(parent)}`
      return `${columns.join('+')} → ${parent.table.collection}${rest}`
    })
    .join(' or ')
}

/**
 * Form of a condition:
 * - `set`: the rows of the caller are an array, so that an index finds them. For policies that read.
 * - `row`: the parents of one row are looked up. For policies that write.
 */
type Form = 'set' | 'row'

/** Writes the condition that a row is the caller's. Pure. */
export function writeCondition(people: People, ownership: Ownership, form: Form): string {
  return condition(people, ownership, form, quoteIdentifier(ownership.table.name), 0)
}

/** @param row name of the row in the statement around it */
function condition(
  people: People,
  { table, keys }: Ownership,
  form: Form,
  row: string,
  depth: number,
): string {
  if (keys.length === 0)
    return isPerson(
      people,
      people.key.map(({ name }) => name),
      row,
    )
  return either(
    keys.map(({ columns, parent, parentColumns }) => {
      const inKeyOrder = people.key.map(({ name }) => columns[parentColumns.indexOf(name)])
      if (parent.keys.length === 0 && columns.length === inKeyOrder.length && inKeyOrder.every(isName)) {
        return isPerson(people, inKeyOrder, row)
      }
      const alias = nameOfParent(table, depth)
      const own = condition(people, parent, form, alias, depth + 1)
      const from = `from ${quoted(parent.table)} ${alias} where`
      const pairs = columns.map((name, index) => [name, parentColumns[index] ?? ''] as const)
      const linked = pairs.map(([child, name]) => `${of(alias, name)} = ${of(row, child)}`)
      const exists = `exists (select ${from} ${linked.join(' and ')} and ${own})`
      if (form === 'row') return exists
      // An index that begins with one of the columns finds the rows.
      const [child, name] = pairs.find(([column]) => startsIndex(table, [column])) ?? pairs[0] ?? ['', '']
      const listed = `${of(row, child)} = any (array(select ${of(alias, name)} ${from} ${own}))`
      return pairs.length === 1 ? listed : `(${listed} and ${exists})`
    }),
  )
}

function isName(name: string | undefined): name is string {
  return name !== undefined
}

/** Writes the condition that the columns are the key of the caller. The subquery calls the function once for each statement. */
function isPerson({ key, function: own }: People, columns: readonly string[], row: string): string {
  const names = columns.map((name) => of(row, name))
  if (key.length === 1) return `${names.join('')} = (select ${quoted(own)}())`
  const values = key.map(({ name }) => of('me', name)).join(', ')
  return `(${names.join(', ')}) = (select ${values} from ${quoted(own)}() me)`
}

function either(conditions: readonly string[]): string {
  return conditions.length === 1 ? conditions.join('') : `(${conditions.join(' or ')})`
}

function of(row: string, column: string): string {
  return `${row}.${quoteIdentifier(column)}`
}

/** Returns an alias that hides no name of the row outside of the subquery. */
function nameOfParent({ name }: Relation, depth: number): string {
  return `${/^p\d+$/.test(name) ? 'q' : 'p'}${depth + 1}`
}
