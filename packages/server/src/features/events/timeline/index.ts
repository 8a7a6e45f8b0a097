import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { timelineRoutes } from './routes.ts'
import { createTimeline } from './service.ts'

export { timelineErrorTable } from './errors.ts'

/** From one write to each attempt of a webhook, each stream and each vector. */
export function timeline(database: SystemDatabase): Feature {
  return { name: 'timeline', routes: (app) => timelineRoutes(app, createTimeline(database)) }
}
