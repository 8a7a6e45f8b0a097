import { createStore } from '../../api/store.ts'
import type { SavedQuery } from './api.ts'

/** What is in the editor and how it runs: kept while the page is open, whichever screen is shown. */
export interface Draft {
  readonly text: string
  readonly mode: 'read' | 'write'
  readonly transaction: 'all' | 'each'
  readonly runAs: 'administrator' | 'user' | 'anonymous'
  readonly userId: string
  /** By the number of the parameter from 0; null is NULL. */
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
