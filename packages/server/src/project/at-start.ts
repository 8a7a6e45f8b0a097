import type { Logger } from 'pino'
import { isDevelopment } from '../config/development.ts'
import type { Database } from '../database/open.ts'
import type { ProjectSections } from './config.ts'
import { applyMigrations } from './migrations/apply.ts'
import { readMigrationFiles } from './migrations/files.ts'
import { readStatus } from './migrations/status.ts'

/**
 * Applies the pending migrations of a project. Outside of development, unless it is configured, it only logs
 * that migrations are pending.
 *
 * @throws OperatorError
 */
export async function migrateAtStart(
  config: ProjectSections,
  database: Database,
  log: Logger,
): Promise<void> {
  const { migrate_at_start: choice, migrations } = config.project
  const files = readMigrationFiles(migrations)
  if (files.length === 0) return
  if (choice === 'auto' ? isDevelopment(config) : choice) {
    await applyMigrations(database, {
      files,
      settings: config.project,
      onApplied: ({ name, durationMs }) => log.info({ name, durationMs }, 'migration applied'),
      onRetry: (message) => log.warn({ reason: message }, 'a migration waits for a lock'),
    })
    return
  }
  // With false another command applies them, and reports that.
  if (choice === false) return
  const { pending } = await readStatus(database.system, files)
  if (pending.length > 0) {
    log.warn({ pending: pending.map(({ name }) => name) }, 'migrations are pending: run basalt migrate up')
  }
}
