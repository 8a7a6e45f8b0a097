import { createStore } from '../api/store.ts'

export type ToastKind = 'done' | 'failure'

export interface ToastMessage {
  readonly id: number
  readonly text: string
  readonly kind: ToastKind
  /** Action offered beside the message, such as undo. */
  readonly action?: { readonly label: string; readonly run: () => void } | undefined
}

export const toasts = createStore<readonly ToastMessage[]>([])

/** Time a message is shown, in milliseconds. Failures stay until they are dismissed. Messages with an action stay longer. */
const lifeMs = 5_000
const lifeWithActionMs = 12_000
const mostShown = 4

let lastId = 0

/** Shows a short message that does not interrupt. Screen readers announce it. */
export function showToast(text: string, kind: ToastKind = 'done', action?: ToastMessage['action']): void {
  lastId += 1
  const id = lastId
  toasts.set([...toasts.get().slice(1 - mostShown), { id, text, kind, action }])
  if (kind === 'failure') return
  setTimeout(() => dismissToast(id), action === undefined ? lifeMs : lifeWithActionMs)
}

export function dismissToast(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id))
}
