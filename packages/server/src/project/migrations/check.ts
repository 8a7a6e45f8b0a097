import { isDevelopment } from '../../config/development.ts'
import { type CatalogScope, catalogScopeOf } from '../../database/catalog/load.ts'
import type { RelationChange } from '../../database/catalog/relation-changes.ts'
import { type Database, openDatabase } from '../../database/open.ts'
import type { ProjectSections } from '../config.ts'
import { DatabaseInUse } from '../databases/copies.ts'
import { openThrowAwayBranch, withReplayed } from '../databases/replay.ts'
import { describeAccessChange } from '../schema/access.ts'
import type { MigrationFile } from './files.ts'
import { listLedger } from './ledger.ts'
import { planMigrations, requireNoObstacle } from './plan.ts'
import { type Rehearsal, rehearse } from './rehearse.ts'

export interface Checked extends Rehearsal {
  /** Database for the pending migrations: a copy with all rows, or an empty one with the applied migrations. */
  readonly copy: 'database' | 'migrations'
}

/** Checks the pending migrations. @throws OperatorError when they fail, or would be rejected */
export async function checkMigrations(
  config: ProjectSections,
  files: readonly MigrationFile[],
  { allowLate, interrupt }: { readonly allowLate: boolean; readonly interrupt: boolean },
): Promise<Checked> {
  const scope = catalogScopeOf(config)
  const database = await openDatabase(config, {
    purpose: 'basalt migrate',
    asServer: false,
    log: () => undefined,
  })
  const plan = planMigrations(files, await listLedger(database.system).finally(() => database.close()))
  requireNoObstacle(plan, allowLate)
  try {
    await using branch = await openThrowAwayBranch(config, (branches, name) =>
      branches.copy(name, interrupt || isDevelopment(config)),
    )
    const options = { purpose: 'basalt check', asServer: false, log: () => undefined }
    const copy = await openDatabase(branch.config, options)
    try {
      return { copy: 'database', ...(await rehearseOn(copy, plan.pending, scope)) }
    } finally {
      await copy.close()
    }
  } catch (error) {
    if (!(error instanceof DatabaseInUse)) throw error
  }
  const applied = files.filter((file) => !plan.pending.includes(file))
  return await withReplayed(config, applied, async (copy) => ({
    copy: 'migrations' as const,
    ...(await rehearseOn(copy, plan.pending, scope)),
  }))
}

async function rehearseOn(
  { aside }: Pick<Database, 'aside'>,
  files: readonly MigrationFile[],
  scope: CatalogScope,
): Promise<Rehearsal> {
  const connection = await aside.open()
  try {
    return await rehearse(connection, files, scope)
  } finally {
    await connection.close()
  }
}

/** Formats the result for people. */
export function describeChecked({ copy, migrations, access, relations }: Checked): string {
  if (migrations.length === 0) return 'nothing is pending\n'
  const lines = migrations.flatMap(({ name, durationMs, locks, rewritten, breaks }) => [
    `${name} (${durationMs} ms)`,
    ...locks.map(
      ({ relation, blocks, heldMs, line, mode }) =>
        `  line ${line} blocks ${blocks} of ${relation} for ${heldMs} ms (${mode})`,
    ),
    ...rewritten.map(({ relation, bytes }) => `  rewrites ${relation} (${bytes} bytes)`),
    ...breaks.map(
      ({ line, what, instead }) =>
        `  warning: line ${line} ${what}, on which the release before still counts; instead: ${instead}`,
    ),
  ])
  return `${[
    copy === 'database'
      ? 'on a copy of the database'
      : 'on an empty database with the applied migrations, because the database is in use: times are those without rows',
    ...lines,
    ...relations.flatMap(describeRelationChange),
    ...(access.length === 0 ? ['no role may do more or less than before'] : access.map(describeAccessChange)),
  ].join('\n')}\n`
}

function describeRelationChange(change: RelationChange): string[] {
  const { warning, remedy } = explainRelationChange(change)
  return [`warning: ${warning}`, ...(remedy === undefined ? [] : [`  ${remedy}`])]
}

/** Formats for people the new meaning of a name, and the addition that prevents it. */
export function explainRelationChange({ collection, name, was, now, newName, keep }: RelationChange) {
  const means = now === null ? 'is no relation any more' : `follows ${now} from then on`
  const instead = newName === null ? '' : `, which is ${newName} then`
  return {
    warning: `${name} of ${collection} (expand, filters) ${means}, not ${was}${instead}`,
    remedy: keep === null ? undefined : `to keep it, add to the migration: ${keep}`,
  }
}
