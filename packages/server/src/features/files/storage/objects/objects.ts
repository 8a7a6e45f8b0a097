import { type ChangerDeps, createObjectChanger } from './change-objects.ts'
import { type CommitterDeps, createObjectCommitter } from './commit-object.ts'
import { createObjectReader, type ObjectReaderDeps } from './read-objects.ts'

export type ObjectsDeps = ObjectReaderDeps & Omit<CommitterDeps & ChangerDeps, 'reader'>

export type ObjectService = ReturnType<typeof createObjectService>

/** Creates the service for objects as rows, under the policies of the operator. Their bytes are elsewhere. */
export function createObjectService(deps: ObjectsDeps) {
  const reader = createObjectReader(deps)
  return {
    ...reader,
    ...createObjectCommitter({ ...deps, reader }),
    ...createObjectChanger({ ...deps, reader }),
  }
}
