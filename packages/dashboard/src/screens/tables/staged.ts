import { createStore, type Store } from '../../api/store.ts'
import { type Changes, countChanges, noChanges } from './changes.ts'

/** Staged changes by table. They are kept while another view is shown. */
const stores = new Map<string, Store<Changes>>()

export function stagedOf(table: string): Store<Changes> {
  const store = stores.get(table) ?? createStore(noChanges)
  stores.set(table, store)
  return store
}

/** State by table: true while its staged changes are being written. */
const applyings = new Map<string, Store<boolean>>()

export function applyingOf(table: string): Store<boolean> {
  const store = applyings.get(table) ?? createStore(false)
  applyings.set(table, store)
  return store
}

addEventListener('beforeunload', (event) => {
  if ([...stores.values()].some((store) => countChanges(store.get()) > 0)) event.preventDefault()
})
