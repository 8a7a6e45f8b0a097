import { OperatorError } from '../../lib/errors.ts'
import type { MigrationFile } from './files.ts'
import type { LedgerRow } from './ledger.ts'

/** Comparison of the files with the ledger. It compares sets, so that no file is ever skipped. */
export interface MigrationPlan {
  /** Pending files in order. */
  readonly pending: readonly MigrationFile[]
  /** Names of files without a statement, which are neither applied nor an obstacle. */
  readonly empty: readonly string[]
  /** Files of {@link pending} that are older than an applied one. */
  readonly late: readonly MigrationFile[]
  readonly applied: readonly LedgerRow[]
  /** Name of the newest applied migration. */
  readonly newest: string | undefined
  /** Names of applied migrations whose files have changed. */
  readonly changed: readonly string[]
  /** Names of applied migrations without a file in the folder. */
  readonly missing: readonly string[]
  /** Migrations without a transaction that have begun and not finished. */
  readonly interrupted: readonly Interrupted[]
}

export interface Interrupted {
  readonly name: string
  readonly statementsDone: number
  /** Undefined when the folder has no such file. */
  readonly file: MigrationFile | undefined
}

/** Compares the files with the ledger. Pure. */
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

/** Returns the reasons why the pending migrations are not applied, one line each. */
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

/** Rejects a plan with obstacles. @throws OperatorError with every obstacle */
export function requireNoObstacle(plan: MigrationPlan, allowLate: boolean): void {
  const obstacles = findObstacles(plan, allowLate)
  if (obstacles.length > 0) throw new OperatorError(obstacles.join('\n  '))
}

function describeInterrupted({ name, statementsDone, file }: Interrupted): string {
  const next = file?.statements[statementsDone]
  const position = next === undefined ? '' : ` before or in line ${next.line}, "${firstLine(next.text)}"`
  const count = file === undefined ? String(statementsDone) : `${statementsDone} of ${file.statements.length}`
  return (
    `${name} stopped after ${count} statements${position}: finish it or undo it by hand, then run ` +
    `basalt migrate resolve ${name} --applied or --pending`
  )
}

function firstLine(text: string): string {
  const [line = ''] = text.split('\n', 1)
  return line.length > 80 ? `${line.slice(0, 80)}…` : line
}
