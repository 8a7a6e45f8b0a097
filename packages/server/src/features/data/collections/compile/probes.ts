import { arrayLiteral } from '../../../../database/array-literal.ts'
import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { type Expression, type Sql, sql } from '../../../../database/sql.ts'
import type { FilterPlan, TestPlan } from '../plan/filter-plan.ts'
import type { RowsPlan } from '../plan/rows.ts'
import { compileBodyValue } from './body.ts'
import { compileFilter } from './filter.ts'
import { compileShape, compileSpatial } from './spatial.ts'
import { checkedBodySource, compileRowSource } from './write.ts'

/**
 * Statements that do the same with the values of a request as its own statement, without reading a table. A failure
 * in one is a fault of the request.
 */

/** Alias of the single row that stands for those of the table. */
const row = 't'

/** Compiles each test of the conditions, with a value of the request in place of the column. */
export function compileConditionProbes({ conditions }: RowsPlan): readonly Sql[] {
  return conditions.flatMap((condition): readonly Sql[] => {
    if (condition.kind === 'filter') return testsOf(condition.filter).map(compileTestProbe)
    const shape = condition.kind === 'spatial' ? compileShape(condition.spatial) : undefined
    if (condition.kind !== 'spatial' || shape === undefined) return []
    const plan = { ...condition.spatial, indexed: undefined }
    return [probe(compileSpatial(plan, row), plan.target.column, shape)]
  })
}

/** Returns the LIKE patterns among the conditions. */
export function patternsOf({ conditions }: RowsPlan): readonly string[] {
  return conditions
    .flatMap((condition) => (condition.kind === 'filter' ? testsOf(condition.filter) : []))
    .flatMap((test) => (test.kind === 'compare' && test.operator.includes('~') ? [test.value] : []))
}

function testsOf(filter: FilterPlan): readonly TestPlan[] {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.terms.flatMap(testsOf)
    case 'not':
      return testsOf(filter.term)
    case 'related':
      return testsOf(filter.condition)
    default:
      return [filter]
  }
}

function compileTestProbe(test: TestPlan): Sql {
  const { column, as } = test.operand
  const text = as === 'column' ? textOf(test) : undefined
  return probe(compileFilter(test, row), column, sql`${text ?? null}::${sql.type(column.typeName)}`)
}

/** Returns a text that the column can be read from. */
function textOf(test: TestPlan): string | null | undefined {
  switch (test.kind) {
    case 'compare':
      return test.value
    case 'in':
      return test.values.find((value) => value !== null)
    case 'set':
      return typeof test.value === 'string' ? test.value : arrayLiteral(test.value)
    case 'matches':
      return test.words
    case 'null':
      return undefined
  }
}

function probe(condition: Sql, { name }: Column, value: Sql): Sql {
  return sql`select ${condition} from (select ${value} as ${sql.id(name)} offset 0) ${sql.id(row)}`
}

/** Generated column of a table. */
export interface GeneratedColumn {
  readonly name: string
  readonly expression: Expression
}

/** Compiles a query of the generated columns of the relation. Returns one row with a JSON array. */
export function compileGeneratedColumns({ oid }: Relation): Sql {
  return sql`
    select coalesce(json_agg(json_build_object(
      'name', a.attname, 'expression', pg_get_expr(d.adbin, d.adrelid))), '[]')
    from pg_catalog.pg_attrdef d
    join pg_catalog.pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
    where d.adrelid = ${oid}::oid and a.attgenerated <> ''`
}

/**
 * Compiles a generated column from the values of the stored body, as far as the body has the columns that it is
 * computed from.
 */
export function compileGeneratedProbe(
  { columns, name, version }: Relation,
  written: readonly Column[],
  { expression }: GeneratedColumn,
  source: Sql = compileRowSource(checkedBodySource, written),
): Sql {
  const values = columns.map((column) => {
    const value = written.includes(column) ? compileBodyValue(column, 'b') : sql`null`
    return sql`${value}::${sql.type(column.typeName)} as ${sql.id(column.name)}`
  })
  return sql`${sql.version(version)}
    select ${sql.expression(expression)}
    from (select ${sql.join(values)} from ${source} offset 0) ${sql.id(name)}`
}
