import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { ExpandPlan, RecordPlan } from '../plan/record.ts'
import { columnsOfSelection } from '../plan/selection.ts'
import { compileJsonValue } from './json-value.ts'
import { compileReference, relationName } from './relation.ts'
import { compileSelection } from './selection.ts'

/** Maximum number of related records per record. More are read through the related collection itself. */
const oneToManyLimit = 1000

/** Compiles the select list of a record whose row is `alias`: its columns, and `expand` when requested. */
export function compileSelectList(
  { columns, expand, relation, selection }: Pick<RecordPlan, 'columns' | 'expand' | 'relation' | 'selection'>,
  alias: string,
): Sql {
  if (selection !== undefined) return compileSelection(selection, alias)
  const items = columns.map((column) => compileColumn(column, alias))
  if (expand !== undefined) items.push(sql`${compileExpand(relation, expand, alias)} as "expand"`)
  return sql.join(items)
}

/** Returns the names of the members of {@link compileSelectList}. */
export function memberNames({ columns, expand, selection }: RecordPlan): readonly string[] {
  if (selection !== undefined) return selection.map(({ key }) => key)
  return [...columns.map(({ name }) => name), ...(expand === undefined ? [] : ['expand'])]
}

/** Returns the columns that `alias` must have for {@link compileSelectList}. */
export function neededColumns({ columns, expand, relation, selection }: RecordPlan): readonly Column[] {
  if (selection !== undefined) return columnsOfSelection(relation, selection)
  const names = new Set(expand?.flatMap(({ relationship }) => relationship.pairs.map(({ from }) => from)))
  return relation.columns.filter((column) => columns.includes(column) || names.has(column.name))
}

/** Compiles a column in its JSON form. */
function compileColumn({ name, type }: Column, alias: string): Sql {
  const source = sql.id(alias, name)
  const json = compileJsonValue(type, source, `${alias}v`)
  return json === undefined ? source : sql`${json} as ${sql.id(name)}`
}

/** Compiles `{"album": {…}, "invoice_line": […]}`; a relation without records has no key. */
function compileExpand(relation: Relation, expand: readonly ExpandPlan[], alias: string): Sql {
  if (expand.length === 0) return sql`'{}'::json`
  if (relation.isOnWorkers) return compileExpandOnWorkers(relation, expand, alias)
  const entries = expand.map(
    (plan) => sql`(${sql.literal(plan.relationship.name)}, ${compileRelated(relation, plan, alias)})`,
  )
  return sql`(
    select coalesce(json_object_agg(e.name, e.related) filter (where e.related is not null), '{}')
    from (values ${sql.join(entries)}) e (name, related)
  )`
}

/** Compiles the same without a list of values, in which Citus accepts only immutable functions. */
function compileExpandOnWorkers(relation: Relation, expand: readonly ExpandPlan[], alias: string): Sql {
  const members = expand.map((plan) => {
    const name = JSON.stringify(plan.relationship.name)
    return sql`${sql.literal(`${name}:`)} || ${compileRelated(relation, plan, alias)}`
  })
  return sql`('{' || concat_ws(',', ${sql.join(members)}) || '}')::json`
}

function compileRelated(
  relation: Relation,
  { relationship, record, order }: ExpandPlan,
  parent: string,
): Sql {
  const child = `${parent}x`
  const rows = sql`
    select ${compileSelectList(record, child)}
    from ${relationName(record.relation)} ${sql.id(child)}
    where ${compileReference(relation, relationship, record.relation, parent, child)}`
  // A table with inheriting tables can have a key more than once.
  if (relationship.kind === 'many-to-one') return sql`(select row_to_json(r.*) from (${rows} limit 1) r)`
  const keys = order.map((column) => sql.id(child, column.name))
  return sql`(
    select json_agg(r.*)
    from (${rows}
      ${keys.length === 0 ? sql.empty : sql`order by ${sql.join(keys)}`}
      limit ${sql.integer(oneToManyLimit)}
    ) r
  )`
}
