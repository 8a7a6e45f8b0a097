import { createStore } from '../../api/store.ts'
import type { SavedQuery } from './api.ts'

/** Text of the editor and its run options. They are kept while the page is open, on all screens. */
export interface Draft {
  readonly text: string
  readonly mode: 'read' | 'write'
  readonly transaction: 'all' | 'each'
  readonly runAs: 'administrator' | 'user' | 'anonymous'
  readonly userId: string
  /** Parameter values, indexed from 0. Null is NULL. */
  readonly parameters: readonly (string | null)[]
  readonly opened: SavedQuery | undefined
}

export const draft = createStore<Draft>({
  text: 'select now();',
  mode: 'read',
  transaction: 'all',
  runAs: 'administrator',
  userId: '',
  parameters: [],
  opened: undefined,
})

export function changeDraft(changes: Partial<Draft>): void {
  draft.set({ ...draft.get(), ...changes })
}
