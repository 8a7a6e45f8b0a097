import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { timelineOperations } from './operations.ts'

export { timelineErrorTable } from './errors.ts'

/**
 * From one write to each attempt of a webhook, each stream, job and vector.
 *
 * @param sentHours for which is recorded what streams were sent
 */
export function timeline(database: SystemDatabase, sentHours: number): Feature {
  return {
    name: 'timeline',
    routes: (app) => addOperations(app, { database, sentHours }, timelineOperations),
  }
}
