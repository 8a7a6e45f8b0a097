import type { LiveCatalog } from '../packages/server/src/database/catalog/live-catalog.ts'
import { loadCatalog } from '../packages/server/src/database/catalog/load.ts'
import {
  type SessionCodeRow,
  sessionCodeQuery,
} from '../packages/server/src/database/catalog/queries/session-code.ts'
import { SessionCode } from '../packages/server/src/database/catalog/session-code.ts'
import { silentChangeLog } from '../packages/server/src/database/change-log.ts'
import type { Connection } from '../packages/server/src/database/connection/connection.ts'
import type { Call, Receiver } from '../packages/server/src/database/connection/message.ts'
import type { Pool, Work } from '../packages/server/src/database/pool/pool.ts'
import { SessionGuard } from '../packages/server/src/database/session/guard.ts'
import { inTransaction, SystemDatabase } from '../packages/server/src/database/system-database.ts'
import { UserDatabase } from '../packages/server/src/database/user-database.ts'
import { noHooks } from '../packages/server/src/features/data/collections/hooks/write-hooks.ts'
import {
  createRecord,
  getRecord,
  listRecords,
  openCollections,
  plainSearch,
  updateRecord,
} from '../packages/server/src/features/data/collections/index.ts'
import { batchRecords } from '../packages/server/src/features/data/collections/write/batch.ts'
import { createWritesOnce } from '../packages/server/src/features/data/idempotency/index.ts'
import { type BenchRequest, ownerId } from './cases.ts'

const scope = {
  kind: 'caller',
  userId: ownerId,
  email: 'bench@example.com',
  isEmailVerified: true,
  aal: 'aal1',
  isAnonymous: false,
  sessionId: '',
} as const

/** Finds the message to Postgres for a request, by calling the server's own code. */
export async function createPlanner(
  connection: Connection,
): Promise<(request: BenchRequest) => Promise<readonly Call[]>> {
  const catalog = await inTransaction(connection, (queryable) =>
    loadCatalog(queryable, { schemas: ['public'] }, new Date()),
  )
  let message: readonly Call[] = []
  const recorder = {
    send(calls: readonly Call[]) {
      message = calls
      return Promise.reject(new Recorded())
    },
    sendEach([first]: readonly [Receiver & { calls: readonly Call[] }]) {
      message = first.calls
      first.fail(new Recorded())
    },
  } as unknown as Connection
  const pool = {
    use: <Result>({ run }: Work<Result>) => run(recorder, () => undefined),
    quotas: { admits: () => true, isAnyExhausted: false, onChange: () => undefined },
    limits: { waitingLimit: 1000, acquireTimeoutMs: 1000, size: 4 },
    networkMs: 0,
  } as unknown as Pool
  const sessions = new SessionGuard({ isPooled: false, transactions: 'message' })
  sessions.trust(
    await inTransaction(
      connection,
      async (queryable) =>
        new SessionCode(await queryable.many<SessionCodeRow & Record<string, unknown>>(sessionCodeQuery)),
    ),
  )
  const context = { dialect: 'parameters', transactionSettings: {}, workerSettings: {} } as const
  const way = { pool, sessions, ...context, prepares: true, isOwner: true }
  const database = new UserDatabase({
    callers: way,
    administrators: way,
    repairGrants: async () => false,
    grantCallerRoles: async () => false,
  })
  const collections = openCollections({
    catalog: { current: catalog } as unknown as LiveCatalog,
    database,
    writesOnce: createWritesOnce({ user: database, system: new SystemDatabase(pool) }),
    changes: silentChangeLog,
    hooks: noHooks,
    searches: { config: 'pg_catalog.english', version: '', settingsOf: () => plainSearch },
    isAudited: false,
    isDevelopment: false,
    limits: { maxFacetBuckets: 1000, aggregateEnabled: true, maxGroups: 10_000, rankLimit: 1000 },
    viewAs: { findScope: async () => undefined, record: async () => undefined },
    // No statement of an export is recorded.
    aside: {
      open: () => Promise.reject(new Recorded()),
      openFor: () => Promise.reject(new Recorded()),
      openReader: () => Promise.reject(new Recorded()),
      openDeveloper: () => Promise.reject(new Recorded()),
      transaction: () => Promise.reject(new Recorded()),
      cancel: () => Promise.resolve(),
    },
    log: { warn: () => undefined },
    exportLimits: { maxRows: 1, timeoutMs: 1000, maxExports: 1, silenceMs: 1000 },
    bulkLimit: 1000,
  })
  const caller = { scope, isAdministrator: false, isAbandoned: () => false }

  return async ({ method, path, body = '' }) => {
    const { pathname, search } = new URL(path, 'http://localhost')
    const [, , , table = '', id = ''] = pathname.split('/')
    const request = { caller, table, id, body, query: search.slice(1) }
    const handlers = {
      GET: (): Promise<unknown> =>
        id === '' ? listRecords(collections, request) : getRecord(collections, request),
      POST: () => (id === 'batch' ? batchRecords(collections, request) : createRecord(collections, request)),
      PATCH: () => updateRecord(collections, request),
    }
    await handlers[method]().catch((error) => {
      if (!(error instanceof Recorded)) throw error
    })
    return message
  }
}

class Recorded extends Error {}
