import { onlineManager } from '@tanstack/react-query'
import { createStore } from './store.ts'

/** Whether the server answers. Requests of views wait while it does not, and resume by themselves. */
export const connection = createStore<'connected' | 'disconnected'>('connected')

const firstPauseMs = 500
const longestPauseMs = 5000

export function noteConnected(): void {
  if (connection.get() === 'connected') return
  connection.set('connected')
  onlineManager.setOnline(true)
}

export function noteDisconnected(): void {
  if (connection.get() === 'disconnected') return
  connection.set('disconnected')
  onlineManager.setOnline(false)
  void reconnect()
}

async function reconnect(): Promise<void> {
  for (let pauseMs = firstPauseMs; connection.get() === 'disconnected'; ) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)
    if (await isReachable()) noteConnected()
  }
}

export const isReachable = (): Promise<boolean> =>
  fetch('/health', { cache: 'no-store' }).then(
    async (response) => !(await isOfProxy(response)),
    () => false,
  )

/** Answered by what stands before a server that is not running. What the server itself answers has its envelope of errors. */
export async function isOfProxy(response: Response): Promise<boolean> {
  if (response.status !== 502 && response.status !== 504) return false
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  const isEnvelope =
    typeof body === 'object' &&
    body !== null &&
    'error' in body &&
    'code' in body &&
    body.code === response.status
  return !isEnvelope
}
