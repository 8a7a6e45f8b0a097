import { onlineManager } from '@tanstack/react-query'
import { createStore } from './store.ts'

/** State of the server connection. While the server is unavailable, requests of views wait. They resume automatically. */
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
    async (response) => !(await isProxyResponse(response)),
    () => false,
  )

/**
 * Returns true if a proxy responded because the server is not running. Responses of the server itself have its error format.
 */
export async function isProxyResponse(response: Response): Promise<boolean> {
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
