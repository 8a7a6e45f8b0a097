import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { timelineOperations } from './operations.ts'

export { timelineErrorTable } from './errors.ts'

/**
 * Creates the feature that leads from one write to each webhook attempt, stream, job and vector.
 *
 * @param sentHours hours for which the streams of an event are recorded
 */
export function timeline(database: SystemDatabase, sentHours: number): Feature {
  return {
    name: 'timeline',
    routes: (app) => addOperations(app, { database, sentHours }, timelineOperations),
  }
}
