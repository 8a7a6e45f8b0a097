import type { Feature } from '../../feature.ts'
import { createSlots } from '../../features/operations/throttle/index.ts'
import { addOperations } from '../../http/operation.ts'
import { type StructureContext, structureOperations } from './operations.ts'

/**
 * Creates the feature that describes tables, columns, indexes, constraints and policies, and plans and changes
 * them by migrations.
 */
export function structure(context: Omit<StructureContext, 'slots'>): Feature {
  return {
    name: 'structure',
    routes: (app) => addOperations(app, { ...context, slots: createSlots() }, structureOperations),
  }
}
