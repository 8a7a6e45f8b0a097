import { requiresRls } from '../../../config/development.ts'
import { callerRole } from '../../../database/caller/caller-scope.ts'
import {
  openedSchemasQuery,
  type UnguardedRow,
  unguardedQuery,
} from '../../../database/catalog/queries/unguarded.ts'
import { gatewayRole } from '../../../database/logins/roles.ts'
import { sql } from '../../../database/sql.ts'
import { closeStatement } from '../../unguarded.ts'
import { type ContextObservation, explainContext, tryContext } from '../caller-trial.ts'
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

function judgeContext(seen: ContextObservation, owner: string): Finding[] {
  const id = 'policies'
  const fault = explainContext(seen)
  if (fault !== undefined) return [failure(id, fault.message, fault.fix)]
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
