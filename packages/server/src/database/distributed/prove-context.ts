import { randomUUID } from 'node:crypto'
import { OperatorError } from '../../lib/errors.ts'
import type { CallerContexts } from '../caller/caller-context.ts'
import { anonymousRole, type CallerScope, callerRole } from '../caller/caller-scope.ts'
import type { Connection } from '../connection/connection.ts'
import { begin, type Call, commit, StatementFailed, statement } from '../connection/message.ts'
import { render } from '../sql.ts'
import { probeTable } from './probe-table.ts'

/** Login of requests, with the context of its transactions. */
export interface LoginContext {
  readonly open: () => Promise<Connection>
  readonly contexts: CallerContexts
}

const whoAmI: Call = {
  statement: statement('select pg_backend_pid()::text, pg_postmaster_start_time()::text'),
  values: [],
}

/** Query with expressions that the node of each row evaluates. */
const whatRowsSee: Call = {
  statement: statement(`
    select pg_backend_pid()::text, pg_postmaster_start_time()::text, current_user::text,
      coalesce(current_setting('basalt.user_id', true), ''), current_setting('row_security')
    from ${render(probeTable).text}`),
  values: [],
}

/**
 * Proves that the context of a request is in force on the workers, in the transaction that sets it. A policy
 * there would otherwise see no caller, or another one.
 *
 * @param workers number of other nodes that store shards
 * @throws OperatorError with the reason where it is not
 */
export async function proveContexts(
  { callers, administrators }: { readonly callers: LoginContext; readonly administrators: LoginContext },
  workers: number,
): Promise<void> {
  const nonce = randomUUID()
  const caller: CallerScope = {
    kind: 'caller',
    userId: nonce,
    email: '',
    isEmailVerified: false,
    aal: '',
    isAnonymous: false,
    sessionId: '',
  }
  await prove(callers, caller, { role: callerRole, userId: nonce, rowSecurity: 'on' }, workers)
  const anonymous = { role: anonymousRole, userId: '', rowSecurity: 'on' }
  await prove(callers, { kind: 'anonymous' }, anonymous, workers)
  const unrestricted = { role: undefined, userId: '', rowSecurity: 'off' }
  await prove(administrators, { kind: 'unrestricted' }, unrestricted, workers)
}

/** Context of the caller that a worker must have. */
interface WorkerContext {
  /** Undefined for the login role. */
  readonly role: string | undefined
  readonly userId: string
  readonly rowSecurity: string
}

async function prove(
  { open, contexts }: LoginContext,
  scope: CallerScope,
  expected: WorkerContext,
  workers: number,
): Promise<void> {
  const connection = await open()
  try {
    const context = contexts.callsFor(scope)
    const answers = await connection.send([begin, ...context, whoAmI, whatRowsSee, commit])
    const [own] = answers[context.length + 1]?.rows ?? []
    const rows = answers[context.length + 2]?.rows ?? []
    const remote = rows.filter(([pid, start]) => pid !== own?.[0] || start !== own?.[1])
    for (const [, , role, userId, rowSecurity] of rows) {
      if (expected.role !== undefined && role !== expected.role) {
        throw refusal(`a worker runs statements of ${expected.role} as ${role}`)
      }
      if (userId !== expected.userId || rowSecurity !== expected.rowSecurity) {
        throw refusal('a worker does not see the settings of the transaction that it takes part in')
      }
    }
    const found = new Set(remote.map(([, start]) => start)).size
    if (found < workers) throw refusal(`${found} of ${workers} workers returned rows`)
  } catch (error) {
    if (!(error instanceof StatementFailed)) throw error
    const role = expected.role ?? 'the login role of administrators'
    throw refusal(
      `${role} cannot reach the workers (${error.message}): it needs LOGIN, and a line for it in pg_hba.conf of each worker`,
      error,
    )
  } finally {
    await connection.close()
  }
}

function refusal(reason: string, cause?: unknown): OperatorError {
  return new OperatorError(
    `policies on distributed tables would not apply: ${reason}. See the guide "Distributed tables"`,
    cause === undefined ? {} : { cause },
  )
}
