import { useSyncExternalStore } from 'react'

/** Value outside of the component tree, which components can subscribe to. */
export interface Store<T> {
  get(): T
  set(value: T): void
  subscribe(listener: () => void): () => void
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial
  const listeners = new Set<() => void>()
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return
      value = next
      for (const listener of [...listeners]) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get)
}

/** Waits until the value meets the condition. @throws the abort reason of the signal */
export function waitFor<T>(
  store: Store<T>,
  isMet: (value: T) => boolean,
  signal?: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      unsubscribe()
      reject(signal?.reason)
    }
    const unsubscribe = store.subscribe(check)
    function check() {
      if (!isMet(store.get())) return
      unsubscribe()
      signal?.removeEventListener('abort', abort)
      resolve()
    }
    if (signal?.aborted === true) return abort()
    signal?.addEventListener('abort', abort, { once: true })
    check()
  })
}
