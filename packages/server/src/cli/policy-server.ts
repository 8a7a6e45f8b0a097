import { createHash, randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { type App, createApp } from '../app.ts'
import type { Config } from '../configuration.ts'
import { type Call, statement } from '../database/connection/message.ts'
import { gatewayRole } from '../database/logins/roles.ts'
import { sql } from '../database/sql.ts'
import type { Queryable } from '../database/system-database.ts'
import type { CaseFile } from '../features/data/policies/index.ts'
import { signAccessToken } from '../features/identity/accounts/index.ts'
import { systemClock } from '../lib/clock.ts'
import { openThrowAwayBranch } from '../project/databases/replay.ts'
import { applyMigrations } from '../project/migrations/apply.ts'
import { applyCurrent } from '../project/migrations/current.ts'
import type { MigrationFile } from '../project/migrations/files.ts'
import { type CaseOutcome, type PolicyServer, runCaseFiles } from '../project/policies/run.ts'

/** Server for cases of policies. Its database has the project's schema and no rows. */
export interface PolicyTester extends AsyncDisposable {
  /** Applies new migrations and changes of schema/current.sql, and runs the cases. @throws OperatorError */
  run(migrations: readonly MigrationFile[], files: readonly CaseFile[]): Promise<CaseOutcome[]>
}

export async function openPolicyTester(config: Config): Promise<PolicyTester> {
  const branch = await openThrowAwayBranch(config)
  const secret = randomBytes(32).toString('hex')
  const password = randomBytes(32).toString('hex')
  let setup: readonly Call[] = []
  const start = () =>
    createApp({
      config: rehearsing(branch.config, secret, password),
      log: pino({ level: 'silent' }),
      // It is the clock of the tokens.
      clock: systemClock,
      rehearsal: { setup: () => setup, loginSecret: branch.config.auth.jwt_secret },
    })
  const app = await start().catch(async (error) => {
    await branch[Symbol.asyncDispose]()
    throw error
  })
  const setupToken = randomBytes(32).toString('hex')
  await createSetupFunction(app.database.system, setupToken)
  const server = createPolicyServer(app, { secret, password }, (texts) => {
    setup = texts.map((text) => ({ statement: runSetup, values: [setupToken, text] }))
  })
  return {
    async run(migrations, files) {
      await applyMigrations(app.database, { files: migrations, settings: config.project })
      await applyCurrent(app.database, config.project.current)
      await app.catalog.refresh()
      return await runCaseFiles(server, files)
    },
    async [Symbol.asyncDispose]() {
      await app.close().finally(() => branch[Symbol.asyncDispose]())
    },
  }
}

const runSetup = statement('select basalt.run_setup($1, $2)')

/**
 * Creates the function that runs the setup of a case as the owner, in the transaction of a caller without
 * privileges. Code that the caller runs does not know the token.
 */
async function createSetupFunction(database: Queryable, token: string): Promise<void> {
  const hash = createHash('sha256').update(token).digest('hex')
  // It has no search path of its own, because the texts are the operator's.
  await database.count(sql`
    create function basalt.run_setup(token text, command text) returns void
    language plpgsql security definer
    as ${sql.literal(`begin
      if pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(token, 'UTF8')), 'hex') operator(pg_catalog.<>) '${hash}' then
        raise insufficient_privilege;
      end if;
      execute command;
    end`)}`)
  await database.count(sql`revoke all on function basalt.run_setup(text, text) from public`)
  const gateway = await database.maybeOne(sql`select from pg_roles where rolname = ${gatewayRole}`)
  // Without a gateway, requests run as the owner.
  if (gateway === undefined) return
  await database.count(sql`grant execute on function basalt.run_setup(text, text) to ${sql.id(gatewayRole)}`)
}

function createPolicyServer(
  app: App,
  { secret, password }: { readonly secret: string; readonly password: string },
  setSetup: PolicyServer['setSetup'],
): PolicyServer {
  let admin: string | undefined
  return {
    database: app.database,
    setSetup,
    request: (method, path, token, body) => request(app, method, path, token, body),
    signToken: ({ id, email, isEmailVerified, isAnonymous, aal }) =>
      signAccessToken(
        { sub: id, email, email_verified: isEmailVerified, is_anonymous: isAnonymous, aal, amr: [] },
        900,
        { secret, clock: systemClock },
      ),
    async createKey(userId, scope, tables) {
      admin ??= await fieldOf(app, '/api/admin/auth', undefined, { password }, 'token')
      const key = {
        userId,
        name: 'policy test',
        scope,
        ...(tables === undefined ? {} : { allowedTables: tables }),
      }
      return await fieldOf(app, '/api/admin/api-keys', admin, key, 'key')
    },
  }
}

/** Returns the configuration of the project without effects on other systems, and with secrets of its own. */
function rehearsing(config: Config, secret: string, password: string): Config {
  return {
    ...config,
    auth: { ...config.auth, jwt_secret: secret },
    admin: { ...config.admin, password },
    jobs: { ...config.jobs, enabled: false },
    // The bytes of files belong to the other database.
    storage: { ...config.storage, enabled: false },
    database: { ...config.database, max_conns: 4 },
    project: { ...config.project, migrate_at_start: false },
  }
}

async function request(
  { http }: App,
  method: string,
  url: string,
  token: string | undefined,
  body: unknown,
): Promise<{ status: number; body: unknown }> {
  const response = await http.inject({
    // It is one of the methods in the cases.
    method: method as 'GET',
    url,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  })
  return { status: response.statusCode, body: response.body === '' ? undefined : JSON.parse(response.body) }
}

/** Returns a field of a response that must succeed. */
async function fieldOf(
  app: App,
  path: string,
  token: string | undefined,
  body: unknown,
  field: string,
): Promise<string> {
  const answer = await request(app, 'POST', path, token, body)
  const value = (answer.body as Record<string, unknown> | undefined)?.[field]
  if (typeof value !== 'string')
    throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return value
}
