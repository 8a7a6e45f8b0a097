import { randomUUID } from 'node:crypto'
import { arrayLiteral } from '../../database/array-literal.ts'
import { CallerContexts } from '../../database/caller/caller-context.ts'
import { callerRole } from '../../database/caller/caller-scope.ts'
import type { Connection } from '../../database/connection/connection.ts'
import { begin, commit, statement } from '../../database/connection/message.ts'
import { probeTransactions } from '../../database/connection/probe.ts'
import { sql } from '../../database/sql.ts'

/** Observation of a message with the context of a caller, and of the one after it. */
export interface ContextObservation {
  readonly login: string
  readonly isTransaction: boolean
  readonly role: string | null
  readonly isNonceRead: boolean
  /** Tables with policies that do not apply to callers. */
  readonly bypassed: readonly string[]
  readonly guarded: number
  readonly roleAfterwards: string | null
  readonly isNonceLeft: boolean
}

const readBack = statement(`select current_user, pg_catalog.current_setting('basalt.user_id', true)`)
const listGuarded = statement(`
  select c.oid::regclass::text, pg_catalog.row_security_active(c.oid)
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relrowsecurity and n.nspname = any ($1::text[])
  order by 1`)

/** Sends a message with the context of a caller, and reads the context there and afterwards. It changes nothing. */
export async function tryContext(
  connection: Connection,
  login: string,
  schemas: readonly string[],
): Promise<ContextObservation> {
  const nonce = randomUUID()
  const isDistributed = await hasCitus(connection)
  const transactions = await probeTransactions(connection)
  const isBlock = isDistributed || transactions === 'block'
  const context = new CallerContexts({
    dialect: isDistributed ? 'literals' : 'parameters',
    transactionSettings: {},
    workerSettings: {},
  }).callsFor({
    kind: 'caller',
    userId: nonce,
    ...{ email: '', isEmailVerified: false, aal: 'aal1', isAnonymous: false, sessionId: '' },
  })
  const calls = [
    ...context,
    { statement: readBack, values: [] },
    { statement: listGuarded, values: [arrayLiteral(schemas)] },
  ]
  const answers = await connection.send(isBlock ? [begin, ...calls, commit] : calls)
  const [read, listed] = answers.slice(context.length + (isBlock ? 1 : 0))
  const [role = null, userId] = read?.rows[0] ?? []
  const [after] = await connection.send([{ statement: readBack, values: [] }])
  const [roleAfterwards = null, left] = after?.rows[0] ?? []
  const tables = listed?.rows ?? []
  return {
    login,
    isTransaction: transactions !== undefined,
    role,
    isNonceRead: userId === nonce,
    bypassed: tables.filter(([, isActive]) => isActive === 'f').map(([name]) => name ?? ''),
    guarded: tables.length,
    roleAfterwards,
    isNonceLeft: left === nonce,
  }
}

async function hasCitus(connection: Connection): Promise<boolean> {
  const { rows } = await connection.query(sql`select from pg_extension where extname = 'citus'`)
  return rows.length > 0
}

/** Returns the fault of the context, with the line that mends it; undefined if it is in force. */
export function explainContext(
  seen: ContextObservation,
): { readonly message: string; readonly fix: string | null } | undefined {
  if (!seen.isTransaction || seen.role !== callerRole || !seen.isNonceRead) {
    return {
      message: `the context of a caller does not reach the next statement (its role is ${seen.role}): policies would not apply`,
      fix: 'pool_mode = transaction   ; in pgbouncer.ini, or let database.url lead to PostgreSQL itself',
    }
  }
  if (seen.roleAfterwards === callerRole || seen.isNonceLeft) {
    return {
      message: 'the context of a caller outlives its transaction, so another caller could get it',
      fix: null,
    }
  }
  return undefined
}
