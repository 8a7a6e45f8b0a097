import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { type App, createApp } from '../app.ts'
import type { Config } from '../config/schema.ts'
import type { Call } from '../database/connection/message.ts'
import { signAccessToken } from '../features/identity/accounts/index.ts'
import { systemClock } from '../lib/clock.ts'
import { openThrowAwayBranch } from '../project/databases/replay.ts'
import { applyMigrations } from '../project/migrations/apply.ts'
import { applyCurrent } from '../project/migrations/current.ts'
import type { MigrationFile } from '../project/migrations/files.ts'
import type { CaseFile } from '../project/policies/case-file.ts'
import { type CaseOutcome, type PolicyServer, runCaseFiles } from '../project/policies/run.ts'

/** A server of its own for cases of policies, whose database has the project's schema and no rows. */
export interface PolicyTester extends AsyncDisposable {
  /** Applies what is new of migrations and schema/current.sql, and runs the cases. @throws OperatorError */
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
      // That of the tokens.
      clock: systemClock,
      rehearsal: { setup: () => setup },
    })
  const app = await start().catch(async (error) => {
    await branch[Symbol.asyncDispose]()
    throw error
  })
  const server = createPolicyServer(app, { secret, password }, (calls) => {
    setup = calls
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

/** The configuration of the project, without what would act on the world, and with secrets of its own. */
function rehearsing(config: Config, secret: string, password: string): Config {
  return {
    ...config,
    auth: { ...config.auth, jwt_secret: secret },
    admin: { ...config.admin, password },
    jobs: { ...config.jobs, enabled: false },
    // The bytes are those of the other database.
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
    // One of those that the cases have.
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

/** Of an answer that cannot be a refusal. */
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
