import type { Notifications, WatchHandle } from '../../../database/notifications/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { ok, operation } from '../../../http/operation.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { recordAudit } from '../audit/index.ts'

const key = 'dashboard_reads'
const topic = 'dashboard_reads'

/** Setting that logs and counts reads by the dashboard. `logging.dashboard_reads` applies until it is stored. */
export class DashboardReads {
  readonly #database: SystemDatabase
  readonly #notifications: Notifications
  readonly #watch: WatchHandle
  #isLogged: boolean

  constructor(database: SystemDatabase, isConfigured: boolean, notifications: Notifications) {
    this.#database = database
    this.#notifications = notifications
    this.#isLogged = isConfigured
    this.#watch = notifications.watch({
      topic,
      // The version of the row changes with every update, even one that writes the same value.
      version: sql`select jsonb_build_array(value, xmin) from basalt.settings where key = ${key}`,
      onChange: (version) => {
        const [value]: [unknown] = version === null ? [isConfigured] : JSON.parse(version)
        this.#isLogged = value === true
      },
    })
  }

  get isLogged(): boolean {
    return this.#isLogged
  }

  /** Stores the setting, which applies to all nodes. */
  async set(isLogged: boolean, origin: RequestOrigin): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      await transaction.count(sql`
        insert into basalt.settings (key, value) values (${key}, ${JSON.stringify(isLogged)}::jsonb)
        on conflict (key) do update set value = excluded.value, updated_at = now()`)
      const detail = { isLogged }
      await recordAudit(transaction, { actor: 'admin', action: 'dashboard_reads.set', detail, origin })
    })
    this.#notifications.announce(topic)
    // Another administrator may have changed it in the meantime. The watch reads the current value.
    await this.#watch.poll()
  }
}

interface Deps {
  readonly reads: DashboardReads
}

const Setting = component(
  'DashboardReads',
  Type.Object({
    isLogged: Type.Boolean({
      description:
        'True if reads by the dashboard are logged and counted. Its writes and sign-ins always are.',
    }),
  }),
)

const common = { guard: 'admin', path: '/api/admin/dashboard-reads', tag: 'operations' } as const

const getReads = operation({
  ...common,
  permission: 'operations.read',
  id: 'dashboardReads.get',
  method: 'GET',
  summary: 'Get the setting for reads by the dashboard',
  success: ok(Setting),
  handle: async ({ reads }: Deps) => ({ isLogged: reads.isLogged }),
})

const setReads = operation({
  ...common,
  permission: 'owner',
  id: 'dashboardReads.set',
  method: 'PUT',
  summary: 'Log and count reads by the dashboard, or omit them',
  description: 'Applies to all nodes at once, without a restart. Replaces `logging.dashboard_reads`.',
  body: Type.Object({ isLogged: Type.Boolean() }),
  success: ok(Setting),
  async handle({ reads }: Deps, { body: { isLogged }, origin }) {
    await reads.set(isLogged, origin)
    return { isLogged }
  },
})

/** Operations on the setting for reads by the dashboard. */
export const dashboardReadOperations = [getReads, setReads]
