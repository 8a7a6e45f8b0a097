import type { Queryable } from '../../database/system-database.ts'
import { describeChange, type SchemaChange } from '../schema/objects.ts'
import type { MigrationFile } from './files.ts'
import { listLedger } from './ledger.ts'
import { findObstacles, planMigrations } from './plan.ts'
import { findDrift } from './recorded-schema.ts'

export interface MigrationStatus {
  readonly applied: readonly { readonly name: string; readonly appliedAt: string }[]
  readonly pending: readonly { readonly name: string; readonly isLate: boolean }[]
  /** Names of files without a statement. */
  readonly empty: readonly string[]
  /** Reasons why `up` would fail, one line each. */
  readonly obstacles: readonly string[]
  /** Changes since the last migration that no migration made. */
  readonly drift: readonly SchemaChange[]
}

/** Runner of the reads of a status in one transaction. */
interface StatusDatabase {
  transaction<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>
}

export async function readStatus(
  database: StatusDatabase,
  files: readonly MigrationFile[],
): Promise<MigrationStatus> {
  return await database.transaction(async (transaction: Queryable) => {
    const plan = planMigrations(files, await listLedger(transaction))
    return {
      applied: plan.applied.map(({ name, applied_at }) => ({
        name,
        appliedAt: applied_at?.toISOString() ?? '',
      })),
      pending: plan.pending.map((file) => ({ name: file.name, isLate: plan.late.includes(file) })),
      empty: plan.empty,
      obstacles: findObstacles(plan),
      drift: (await findDrift(transaction)) ?? [],
    }
  })
}

/** Formats the status for people. */
export function describeStatus({ applied, pending, empty, obstacles, drift }: MigrationStatus): string {
  return [
    `${applied.length} applied${applied.length === 0 ? '' : `, the newest ${applied.at(-1)?.name}`}`,
    pending.length === 0 ? 'nothing is pending' : `${pending.length} pending:`,
    ...pending.map(({ name, isLate }) => `  ${name}${isLate ? ' (late)' : ''}`),
    ...empty.map((name) => `${name} has no statement yet`),
    ...(obstacles.length === 0 ? [] : ['in the way:', ...obstacles.map((line) => `  ${line}`)]),
    ...(drift.length === 0
      ? []
      : ['changed other than by migrations:', ...drift.map((change) => `  ${describeChange(change)}`)]),
    '',
  ].join('\n')
}
