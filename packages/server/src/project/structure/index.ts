import type { Feature } from '../../feature.ts'
import { structureRoutes } from './routes.ts'
import { createStructureService, type StructureDeps } from './service.ts'

/** Tables, columns, indexes, constraints and policies: described, planned, and changed by migrations. */
export function structure(deps: StructureDeps): Feature {
  return {
    name: 'structure',
    routes: (app) => structureRoutes(app, createStructureService(deps)),
  }
}
