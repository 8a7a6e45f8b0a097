import { randomUUID } from 'node:crypto'
import { requiresRls } from '../../../config/development.ts'
import { arrayLiteral } from '../../../database/array-literal.ts'
import { CallerContexts } from '../../../database/caller/caller-context.ts'
import { callerRole } from '../../../database/caller/caller-scope.ts'
import {
  openedSchemasQuery,
  type UnguardedRow,
  unguardedQuery,
} from '../../../database/catalog/queries/unguarded.ts'
import type { Connection } from '../../../database/connection/connection.ts'
import { begin, commit, statement } from '../../../database/connection/message.ts'
import { probeEngine, probeTransactions } from '../../../database/connection/probe.ts'
import { gatewayRole } from '../../../database/logins/roles.ts'
import { sql } from '../../../database/sql.ts'
import { closeStatement } from '../../unguarded.ts'
import { type Check, type CheckContext, type Finding, failure, ok, warning } from '../check.ts'
import { asGateway } from '../gateway.ts'

/** Check that policies are in force: with the context of a caller, in a message as the server sends it. */
export const policies: Check = {
  id: 'policies',
  async run(context) {
    const { config } = context
    if (!config.auth.enabled) {
      return [
        warning(
          'policies',
          'auth.enabled is false: every request reads and writes all rows, without policies',
          'enabled = true   # in [auth]',
        ),
      ]
    }
    return [...(await describeContext(context)), await describeUnguarded(context)]
  },
}

async function describeContext(context: CheckContext): Promise<Finding[]> {
  const { schemas } = context.config.database
  const { owner } = await context.database.readPrepared((transaction) =>
    transaction.one<{ owner: string }>(sql`select quote_ident(session_user) as owner`),
  )
  const outcome = await asGateway(context, (connection, login) => tryContext(connection, login, schemas))
  if (!('reason' in outcome)) return judgeContext(outcome.result, owner)
  const retried = await context.database.use((connection) => tryContext(connection, owner, schemas))
  return [
    warning(
      'policies.login',
      `${gatewayRole} cannot log in (${outcome.reason}): requests of callers log in with all rights of database.url`,
      'basalt reload   # sets its password, and logs the statement that an administrator has to run',
    ),
    ...judgeContext(retried, owner),
  ]
}

/** Observation of a message with the context of a caller, and of the one after it. */
interface Observation {
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

async function tryContext(
  connection: Connection,
  login: string,
  schemas: readonly string[],
): Promise<Observation> {
  const nonce = randomUUID()
  const { isDistributed } = await probeEngine(connection)
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

function judgeContext(seen: Observation, owner: string): Finding[] {
  const id = 'policies'
  if (!seen.isTransaction || seen.role !== callerRole || !seen.isNonceRead) {
    return [
      failure(
        id,
        `the context of a caller does not reach the next statement (its role is ${seen.role}): policies would not apply`,
        'pool_mode = transaction   ; in pgbouncer.ini, or let database.url lead to PostgreSQL itself',
      ),
    ]
  }
  if (seen.roleAfterwards === callerRole || seen.isNonceLeft) {
    return [
      failure(id, 'the context of a caller outlives its transaction, so another caller could get it', null),
    ]
  }
  if (seen.bypassed.length > 0) {
    return [
      failure(
        id,
        `policies do not apply to callers on ${seen.bypassed.join(', ')}: ${callerRole} owns the table or is a member of its owner`,
        seen.bypassed.map((table) => `alter table ${table} owner to ${owner};`).join(' '),
      ),
    ]
  }
  return [
    ok(
      id,
      `the context of a caller is in force (login ${seen.login}), and the policies of ${seen.guarded} tables apply to it`,
    ),
  ]
}

async function describeUnguarded({ config, database }: CheckContext): Promise<Finding> {
  const id = 'policies.tables'
  const { schemas } = config.database
  const relations = await database.readPrepared(async (transaction) => {
    const opened = await transaction.many<{ schema_name: string }>(openedSchemasQuery)
    return await transaction.many<UnguardedRow & Record<string, unknown>>(
      unguardedQuery(
        schemas,
        opened.map(({ schema_name }) => schema_name),
      ),
    )
  })
  if (relations.length === 0) return ok(id, 'every relation that callers may use has policies')
  const names = relations.slice(0, 8).map(({ name }) => name)
  const list = `${names.join(', ')}${relations.length > names.length ? ', …' : ''}`
  if (requiresRls(config))
    return ok(id, `${relations.length} relations without policies are closed to callers (${list})`)
  return warning(
    id,
    `${relations.length} relations without policies are open to every signed-in caller (${list})`,
    relations.slice(0, 8).map(closeStatement).join(' '),
  )
}
