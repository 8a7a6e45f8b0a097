import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import {
  compileComparison,
  compileConditions,
  compileOrder,
  type ListPlan,
  parseBodyId,
  relationName,
} from '../../collections/index.ts'
import { describeFailure } from '../evaluation/evaluate.ts'
import { compileStoredRows, placeColumn } from '../given-rows.ts'
import { type Rehearsal, toCall } from '../rehearsal/rehearsal.ts'

/** A row that is asked about, as an administrator reads it. */
export interface Candidate {
  /** As the path of the record has it, before percent-encoding; undefined without a primary key. */
  readonly id: string | undefined
  /** As PostgreSQL writes the row. */
  readonly stored: string
  /** Texts of some of its columns, cut where they are long. */
  readonly shown: Readonly<Record<string, string | null>>
}

/** Characters of a value that are shown. */
const shownLength = 200
/** Columns that are shown, beside the key and those that policies look at. */
const shownColumns = 12
/** Bytes of rows that are asked about at once; those after it are left out. */
const rowsSize = 8_000_000

/** Reads the rows past the policies. @throws AppError invalid_primary_key, … @throws StatementFailed, TimeIsUp */
export async function readCandidates(
  rehearsal: Rehearsal,
  relation: Relation,
  { ids, plan, limit }: { ids: readonly string[] | undefined; plan: ListPlan; limit: number },
): Promise<{ readonly rows: readonly Candidate[]; readonly isCut: boolean }> {
  const alias = 'basalt candidate'
  const columns = columnsToShow(relation)
  const key = relation.primaryKey.map(({ name }) => sql`${sql.id(alias, name)}::text`)
  const values = columns.map(
    ({ name }) => sql`left(${sql.id(alias, name)}::text, ${sql.integer(shownLength)})`,
  )
  const { rows } = await rehearsal.attemptPastPolicies(
    toCall(sql`
      select (${sql.id(alias)}.*)::text, ${sql.join([...key, ...values])}
      from ${relationName(relation)} ${sql.id(alias)}
      where ${ids === undefined ? compileConditions(plan.rows, alias) : compileIds(relation, ids, alias)}
      ${compileOrder(plan.order, alias)}
      limit ${sql.integer(limit)}`),
  )
  let size = 0
  const taken = rows.filter(([stored]) => {
    size += stored?.length ?? 0
    return size <= rowsSize
  })
  const candidates = taken.map(([stored, ...texts]) => ({
    id: key.length === 0 ? undefined : joinId(texts.slice(0, key.length)),
    stored: stored ?? '',
    shown: Object.fromEntries(columns.map(({ name }, index) => [name, texts[key.length + index] ?? null])),
  }))
  return { rows: candidates, isCut: taken.length < rows.length }
}

function columnsToShow({ columns, primaryKey, policies }: Relation): readonly Column[] {
  const looked = new Set(policies.flatMap(({ columns: names }) => names ?? []))
  const others = columns.filter((column) => !primaryKey.includes(column) && !looked.has(column.name))
  const shown = new Set([
    ...primaryKey,
    ...columns.filter(({ name }) => looked.has(name)).slice(0, 3 * shownColumns),
    ...others.slice(0, shownColumns),
  ])
  return [...shown]
}

/** A comma that belongs to a value of a composite key is encoded, as in a path. */
function joinId(values: readonly (string | null)[]): string {
  const texts = values.map((value) => value ?? '')
  return texts.length === 1 ? (texts[0] ?? '') : texts.map((text) => encodeURIComponent(text)).join(',')
}

function compileIds(relation: Relation, ids: readonly string[], alias: string): Sql {
  const conditions = ids.map((id) => {
    const values = parseBodyId(relation, id)
    return sql`(${sql.join(
      relation.primaryKey.map(({ name, type }, index) =>
        compileComparison(type, sql.id(alias, name), '=', sql`${values[index] ?? ''}`),
      ),
      sql` and `,
    )})`
  })
  return conditions.length === 0 ? sql`false` : sql`(${sql.join(conditions, sql` or `)})`
}

/** Whether the caller sees a row: what the table itself answers, with its policies in force. */
export type Sight = boolean | { readonly message: string; readonly sqlState: string } | undefined

/** Undefined of tables without a key: nothing distinguishes their rows. */
export async function findVisible(
  rehearsal: Rehearsal,
  relation: Relation,
  candidates: readonly Candidate[],
): Promise<readonly Sight[]> {
  if (relation.rowKey.length === 0 || candidates.length === 0) return candidates.map(() => undefined)
  const same = relation.rowKey.map(({ name, type }) =>
    compileComparison(type, sql.id('basalt seen', name), '=', sql.id(relation.name, name)),
  )
  const texts = candidates.map(({ stored }) => stored)
  try {
    const [answer] = await rehearsal.attempt([
      toCall(sql`
        select ${placeColumn(relation)}
        from ${compileStoredRows(relation, sql`${texts}`)}
        join ${relationName(relation)} "basalt seen" on ${sql.join(same, sql` and `)}`),
    ])
    const places = new Set(answer?.rows.map(([place]) => Number(place)))
    return candidates.map((_, index) => places.has(index + 1))
  } catch (error) {
    const failure = describeFailure(error)
    return candidates.map(() => failure)
  }
}
