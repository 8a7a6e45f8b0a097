import { listPendingMigrations } from '../../../database/preparation/migrate.ts'
import { readMigrationFiles } from '../../../project/migrations/files.ts'
import { readStatus } from '../../../project/migrations/status.ts'
import { type Check, type CheckContext, type Finding, failure, ok, warning } from '../check.ts'

/** Check of the migrations of the schema `basalt`, and of those of the project. */
export const migrations: Check = {
  id: 'migrations',
  run: async (context) => [await describeOwn(context), ...(await describeProject(context))],
}

async function describeOwn({ database }: CheckContext): Promise<Finding> {
  const id = 'migrations'
  const pending = await database.readPrepared(listPendingMigrations)
  if (pending.length === 0) return ok(id, 'the schema basalt is that of this version')
  return warning(
    id,
    `${pending.length} migrations of the schema basalt are pending (${pending.join(', ')}): the next start applies them`,
    'basalt backup before-upgrade.tar.gz && basalt reload',
  )
}

async function describeProject({ config, database }: CheckContext): Promise<Finding[]> {
  const id = 'migrations.project'
  const files = readMigrationFiles(config.project.migrations)
  if (files.length === 0) return []
  const { pending, obstacles } = await database.readPrepared((transaction) =>
    readStatus({ transaction: (work) => work(transaction) }, files),
  )
  const [obstacle] = obstacles
  if (obstacle !== undefined)
    return [
      failure(id, `the migrations of the project cannot be applied: ${obstacle}`, 'basalt migrate status'),
    ]
  if (pending.length === 0) return [ok(id, `all ${files.length} migrations of the project are applied`)]
  const names = pending.map(({ name }) => name).join(', ')
  return [warning(id, `migrations of the project are pending: ${names}`, 'basalt migrate up')]
}
