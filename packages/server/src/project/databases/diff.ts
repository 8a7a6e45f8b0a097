import { openDatabase } from '../../database/open.ts'
import type { SystemDatabase } from '../../database/system-database.ts'
import type { ProjectSections } from '../config.ts'
import type { MigrationFile } from '../migrations/files.ts'
import { neverCompared, unseenQuery } from '../schema/object-queries.ts'
import { compareSchemas, describeChange, readSchema, type SchemaChange } from '../schema/objects.ts'
import { withReplayed } from './replay.ts'

export interface SchemaDiff {
  /** Changes from the result of the migrations to the database. */
  readonly changes: readonly SchemaChange[]
  /** Objects of the database of kinds that are not compared. */
  readonly unseen: readonly { readonly kind: string; readonly name: string }[]
  /** Kinds of objects that are never compared. */
  readonly notCompared: readonly string[]
}

/** Compares the database with the migrations, applied to an empty one. @throws OperatorError when they fail */
export async function diffSchema(
  config: ProjectSections,
  files: readonly MigrationFile[],
): Promise<SchemaDiff> {
  const live = await openDatabase(config, { purpose: 'basalt db', asServer: false, log: () => undefined })
  const [actual, unseen] = await readAll(live.system).finally(() => live.close())
  const [expected] = await withReplayed(config, files, ({ system }) => readAll(system))
  return { changes: compareSchemas(expected, actual), unseen, notCompared: neverCompared }
}

function readAll(database: SystemDatabase) {
  return database.transaction(async (transaction) => {
    const unseen = await transaction.many<{ kind: string; name: string }>(unseenQuery)
    return [await readSchema(transaction), unseen] as const
  })
}

/** Formats the difference for people. */
export function describeDiff({ changes, unseen, notCompared }: SchemaDiff): string {
  const lines = [
    ...(changes.length === 0 ? ['no difference from the migrations'] : changes.map(describeChange)),
    ...(unseen.length === 0 ? [] : ['present, and of a kind that is not compared:']),
    ...unseen.map(({ kind, name }) => `  ${kind} ${name}`),
    `never compared: ${notCompared.join(', ')}`,
  ]
  return `${lines.join('\n')}\n`
}
