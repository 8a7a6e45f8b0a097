import { OperatorError } from '../../lib/errors.ts'
import type { MigrationFile } from './files.ts'
import type { LedgerRow } from './ledger.ts'

/** How the files stand to what the database knows: a comparison of sets, so that none is ever skipped. */
export interface MigrationPlan {
  /** In order. */
  readonly pending: readonly MigrationFile[]
  /** Neither applied nor in the way: files without a statement, which are still to be written. */
  readonly empty: readonly string[]
  /** Those of {@link pending} that are older than one that was applied. */
  readonly late: readonly MigrationFile[]
  readonly applied: readonly LedgerRow[]
  /** The newest one applied. */
  readonly newest: string | undefined
  /** Applied, and not the same file any more. */
  readonly changed: readonly string[]
  /** Applied, and no file of the folder. */
  readonly missing: readonly string[]
  /** Begun without a transaction, and not finished. */
  readonly interrupted: readonly Interrupted[]
}

export interface Interrupted {
  readonly name: string
  readonly statementsDone: number
  /** Undefined when it is no file of the folder. */
  readonly file: MigrationFile | undefined
}

/** Pure. */
export function planMigrations(files: readonly MigrationFile[], ledger: readonly LedgerRow[]): MigrationPlan {
  const known = new Map(ledger.map((row) => [row.name, row]))
  const byName = new Map(files.map((file) => [file.name, file]))
  const applied = ledger.filter(({ applied_at }) => applied_at !== null)
  const newest = applied
    .map(({ name }) => name)
    .toSorted()
    .at(-1)
  const unknown = files.filter(({ name }) => !known.has(name))
  const pending = unknown.filter(({ statements }) => statements.length > 0)
  return {
    pending,
    empty: unknown.filter((file) => !pending.includes(file)).map(({ name }) => name),
    late: pending.filter(({ name }) => newest !== undefined && name < newest),
    applied,
    newest,
    changed: applied
      .filter(({ name, checksum }) => byName.has(name) && byName.get(name)?.checksum !== checksum)
      .map(({ name }) => name),
    missing: applied.filter(({ name }) => !byName.has(name)).map(({ name }) => name),
    interrupted: ledger
      .filter(({ applied_at }) => applied_at === null)
      .map(({ name, statements_done }) => ({
        name,
        statementsDone: statements_done,
        file: byName.get(name),
      })),
  }
}

/** Why the pending migrations are not applied, one line each. */
export function findObstacles(plan: MigrationPlan, allowLate = false): string[] {
  return [
    ...plan.interrupted.map(describeInterrupted),
    ...plan.changed.map(
      (name) =>
        `${name} was changed after it was applied: restore it, and make the change by another migration`,
    ),
    ...plan.missing.map(
      (name) => `${name} was applied and is no file any more: basalt migrate pull restores it`,
    ),
    ...(allowLate ? [] : plan.late).map(
      ({ name }) =>
        `${name} is older than ${plan.newest}, which is applied: give it a later time, or run it with --allow-late`,
    ),
  ]
}

/** @throws OperatorError with every obstacle */
export function requireNoObstacle(plan: MigrationPlan, allowLate: boolean): void {
  const obstacles = findObstacles(plan, allowLate)
  if (obstacles.length > 0) throw new OperatorError(obstacles.join('\n  '))
}

function describeInterrupted({ name, statementsDone, file }: Interrupted): string {
  const next = file?.statements[statementsDone]
  const place = next === undefined ? '' : ` before or in line ${next.line}, "${firstLine(next.text)}"`
  const count = file === undefined ? String(statementsDone) : `${statementsDone} of ${file.statements.length}`
  return (
    `${name} stopped after ${count} statements${place}: finish it or undo it by hand, then run ` +
    `basalt migrate resolve ${name} --applied or --pending`
  )
}

function firstLine(text: string): string {
  const [line = ''] = text.split('\n', 1)
  return line.length > 80 ? `${line.slice(0, 80)}…` : line
}
