import { setTimeout as delay } from 'node:timers/promises'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { sqlRunnerErrors } from './errors.ts'
import { cancelBackend } from './queries.ts'
import type { SqlRunner } from './runner.ts'

/** Maximum number of attempts: a run of another node may be between two statements, where a cancel has no effect. */
const attempts = 20
const pauseMs = 50

/**
 * Cancels a run on any node.
 *
 * @throws AppError sql_run_not_found
 */
export async function cancelRun(
  database: SystemDatabase,
  runner: SqlRunner,
  id: string,
  origin: RequestOrigin,
): Promise<void> {
  const isOwn = runner.cancel(id)
  if (!isOwn && !(await cancelBackend(database, id))) throw sqlRunnerErrors.sqlRunNotFound()
  await recordAudit(database, { actor: 'admin', action: 'sql.cancel', target: id, origin })
  for (let attempt = 1; !isOwn && attempt < attempts; attempt += 1) {
    await delay(pauseMs)
    if (!(await cancelBackend(database, id))) return
  }
}
