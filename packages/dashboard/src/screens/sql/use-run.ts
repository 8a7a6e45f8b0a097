import { isBasaltError } from '@basaltdb/client'
import { useCallback, useEffect, useRef, useState } from 'react'
import { inSession } from '../../api/queries.ts'
import {
  cancelRun,
  type RunBody,
  type RunFailure,
  type RunNotice,
  runSql,
  type StatementResult,
} from './api.ts'

/** State of a run, during and after it. */
export interface RunState {
  readonly body: RunBody
  /** Start of the executed text in the editor: its offset, and the number of lines before it. */
  readonly start: number
  readonly linesBefore: number
  readonly isRunning: boolean
  readonly role: string | undefined
  readonly statements: number
  readonly results: readonly StatementResult[]
  readonly notices: readonly RunNotice[]
  readonly failure: RunFailure | undefined
  readonly outcome: string | undefined
  readonly durationMs: number | undefined
}

export function useRun() {
  const [run, setRun] = useState<RunState>()
  const current = useRef<{ id: string; abort: AbortController }>(undefined)
  // When the view closes, the server notices the disconnect and cancels the run.
  useEffect(() => () => current.current?.abort.abort(), [])

  const start = useCallback(
    async (body: RunBody, at: number, linesBefore: number): Promise<RunFailure | undefined> => {
      current.current?.abort.abort()
      const id = randomUuid()
      const abort = new AbortController()
      current.current = { id, abort }
      const change = (changes: Partial<RunState> | ((before: RunState) => Partial<RunState>)) => {
        if (current.current?.id !== id) return
        setRun((before) =>
          before === undefined
            ? before
            : { ...before, ...(typeof changes === 'function' ? changes(before) : changes) },
        )
      }
      setRun({
        body,
        start: at,
        linesBefore,
        isRunning: true,
        role: undefined,
        statements: 0,
        results: [],
        notices: [],
        failure: undefined,
        outcome: undefined,
        durationMs: undefined,
      })
      let failure: RunFailure | undefined
      let hasStarted = false
      try {
        await inSession(async () => {
          for await (const event of runSql({ ...body, id }, abort.signal)) {
            if (event.type === 'start') {
              hasStarted = true
              change({ role: event.role, statements: event.statements })
            } else if (event.type === 'result') change(({ results }) => ({ results: [...results, event] }))
            else if (event.type === 'notice') change(({ notices }) => ({ notices: [...notices, event] }))
            else if (event.type === 'end') change({ outcome: event.outcome, durationMs: event.durationMs })
            else failure = event
          }
        }, abort.signal)
      } catch (error) {
        // A later run, or a cancel that was faster than the run, has replaced this one.
        if (current.current?.id !== id) return undefined
        failure = !abort.signal.aborted ? asFailure(error) : hasStarted ? abandoned : canceled
      }
      change({ isRunning: false, failure })
      return failure
    },
    [],
  )

  const cancel = useCallback(() => {
    const running = current.current
    if (running === undefined) return
    cancelRun(running.id).catch(() => running.abort.abort())
  }, [])

  return { run, start, cancel }
}

/** Failure of a canceled run, as the server returns it. */
const canceled: RunFailure = { code: 409, message: 'the run was canceled', error: 'sql_run_canceled' }
/** Failure of a run whose outcome is unknown: the server no longer knows the run or did not respond. */
const abandoned: RunFailure = {
  code: 409,
  message: 'the outcome of the run is unknown; the history shows how it ended',
  error: 'sql_run_canceled',
}

function asFailure(error: unknown): RunFailure {
  if (isBasaltError(error)) return { code: error.status, message: error.message, error: error.error }
  return { code: 0, message: error instanceof Error ? error.message : String(error), error: 'network_error' }
}

/** Returns a random UUID (RFC 9562, section 5.4). Pages without TLS have no `randomUUID`. */
function randomUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'))
    .join('')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
