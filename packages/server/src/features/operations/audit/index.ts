import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import { AuditedTables } from './audited-tables.ts'
import type { AuditConfig } from './config.ts'
import { deleteAudit } from './entry.ts'
import { auditOperations } from './operations.ts'

export { type AuditEntry, type AuditFilter, auditedOperations, listAudit } from './entry.ts'
export { type NewAuditEntry, recordAdminAction, recordAudit } from './record.ts'

export interface AuditDeps {
  readonly config: AuditConfig
  readonly database: SystemDatabase
  readonly catalog: LiveCatalog
  readonly queue: JobQueue
  readonly log: Logger
}

/** Makes the feature of the audit log: actions of administrators, and changes in the tables of `audit.tables`. */
export function audit({ config, database, catalog, queue, log }: AuditDeps): Feature {
  queue.define(
    housekeeping('audit_log_retention', ({ retention_days = config.retention_days }) =>
      deleteAudit(database, retention_days),
    ),
  )
  const tables = new AuditedTables({ names: config.tables, database, catalog, log })
  return {
    name: 'audit',
    routes: (app) => addOperations(app, { database }, auditOperations),
    start: () => tables.start(),
    stop: () => tables.stop(),
  }
}
