import { render, type Sql } from '../src/database/sql.ts'
import type { Queryable, SystemDatabase, SystemTransaction } from '../src/database/system-database.ts'

/** Sum of the reads of several statements. */
export interface Reads {
  /** Rows that scans of tables and indexes read, before filters. */
  rows: number
  /** Pages of tables and indexes read or written; each access counts. */
  pages: number
  /** Names of tables that were read completely. */
  readonly wholeTables: string[]
}

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Plan[]
}

type Executor = Queryable & Pick<SystemDatabase, 'transaction'>

/** Runs EXPLAIN ANALYZE of every statement before the statement itself, undoes it, and sums up its reads. */
export function explaining(database: SystemDatabase): { readonly database: Executor; readonly reads: Reads } {
  const reads: Reads = { rows: 0, pages: 0, wholeTables: [] }
  const inside = (transaction: SystemTransaction): SystemTransaction => {
    const explained = async <Result>(statement: Sql, run: () => Promise<Result>): Promise<Result> => {
      await transaction.execute({ text: 'savepoint explained', values: [] })
      const { text, values } = render(statement)
      const { rows } = await transaction.execute({
        text: `explain (analyze, buffers, format json) ${text}`,
        values,
      })
      await transaction.execute({ text: 'rollback to savepoint explained', values: [] })
      // The documentation of this format has the shape.
      const plan = (rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan
      reads.pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
      addUp(plan, reads)
      return await run()
    }
    return {
      one: (statement) => explained(statement, () => transaction.one(statement)),
      maybeOne: (statement) => explained(statement, () => transaction.maybeOne(statement)),
      many: (statement) => explained(statement, () => transaction.many(statement)),
      send: (calls) => transaction.send(calls),
      onCommit: (listener) => transaction.onCommit(listener),
      count: (statement) => explained(statement, () => transaction.count(statement)),
      execute: (statement) => transaction.execute(statement),
    }
  }
  const alone = <Result>(work: (transaction: SystemTransaction) => Promise<Result>) =>
    database.transaction((transaction) => work(inside(transaction)))
  return {
    reads,
    database: {
      one: (statement) => alone((transaction) => transaction.one(statement)),
      maybeOne: (statement) => alone((transaction) => transaction.maybeOne(statement)),
      many: (statement) => alone((transaction) => transaction.many(statement)),
      count: (statement) => alone((transaction) => transaction.count(statement)),
      execute: (statement) => database.execute(statement),
      transaction: alone,
    },
  }
}

function addUp(plan: Plan, reads: Reads): void {
  if (plan['Relation Name'] !== undefined) {
    const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
    reads.rows += (plan['Actual Rows'] + removed) * plan['Actual Loops']
    if (plan['Node Type'] === 'Seq Scan') reads.wholeTables.push(plan['Relation Name'])
  }
  for (const child of plan.Plans ?? []) addUp(child, reads)
}
