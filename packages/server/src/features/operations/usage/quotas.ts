import type { Logger } from 'pino'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { AnsweredRequest, RequestObserver } from '../../../http/observation/request-observer.ts'
import type { Clock } from '../../../lib/clock.ts'
import { type AppError, messageOf } from '../../../lib/errors.ts'
import { type LimitedMetric, limitsOf, type PlanLimits, type Plans } from './plans.ts'
import { listUsed } from './queries.ts'
import { refuseBeyondPlan } from './refusal.ts'
import { monthOf } from './span.ts'

/** Interval at which a node reads the usage of apps on all nodes. Usage on other nodes is noticed this late. */
const pollMs = 5000

/** Limits that the requests of an app count towards. The storage limit is enforced where files are stored. */
const enforced = [
  'api_requests',
  'bandwidth_bytes',
  'function_invocations',
] as const satisfies LimitedMetric[]

interface Quota {
  readonly limits: PlanLimits
  readonly used: Record<(typeof enforced)[number], number>
}

export interface QuotasOptions {
  readonly database: SystemDatabase
  readonly plans: Plans
  readonly clock: Clock
  readonly log: Logger
}

/** Usage of apps with limited plans in this month, as far as this node knows. */
export class Quotas implements RequestObserver {
  readonly #options: QuotasOptions
  #timer: NodeJS.Timeout | undefined
  #quotas = new Map<string, Quota>()
  /** Month that the quotas belong to. */
  #month = 0
  /** Number of started reads. */
  #reads = 0

  constructor(options: QuotasOptions) {
    this.#options = options
  }

  /** Watches plan changes, which apply on every node within a second. All apps have their limits from the start. */
  watchWith(notifications: Pick<Notifications, 'watch'>): void {
    notifications.watch({
      topic: 'app_plans',
      version: sql`select version from basalt.api_key_version`,
      onChange: () => this.read(),
    })
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.read().catch((error) =>
        this.#options.log.warn(
          { reason: messageOf(error) },
          `failed to read the usage of apps; retrying every ${pollMs / 1000} s`,
        ),
      )
    }, pollMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  onAnswer({ appId, bytesIn, bytesOut }: AnsweredRequest): void {
    const quota = this.#quotas.get(appId)
    if (quota === undefined) return
    quota.used.api_requests += 1
    quota.used.bandwidth_bytes += bytesIn + bytesOut
  }

  /** Returns the error for a request of the app beyond its limits, if there is one. */
  refuse(appId: string): AppError | undefined {
    const quota = this.#quotas.get(appId)
    if (quota === undefined) return undefined
    const now = this.#options.clock.now()
    if (monthOf(now).getTime() !== this.#month) return undefined
    const metric = enforced.find((name) => quota.limits[name] > 0 && quota.used[name] >= quota.limits[name])
    if (metric === undefined) return undefined
    return refuseBeyondPlan(metric, now)
  }

  /** Reads the usage on all nodes, which also happens every few seconds. */
  async read(): Promise<void> {
    const { database, plans, clock } = this.#options
    const month = monthOf(clock.now())
    const limited = Object.keys(plans).filter((name) =>
      enforced.some((metric) => limitsOf(plans, name)[metric] > 0),
    )
    this.#reads += 1
    const read = this.#reads
    const rows = limited.length === 0 ? [] : await listUsed(database, limited, month)
    // A read that started later may know other plans.
    if (read !== this.#reads) return
    const before = this.#month === month.getTime() ? this.#quotas : new Map<string, Quota>()
    this.#quotas = new Map(
      rows.map((row) => {
        const known = before.get(row.app_id)?.used
        // Counts of this node may not have been added up yet.
        const used = {
          api_requests: Math.max(row.api_requests, known?.api_requests ?? 0),
          bandwidth_bytes: Math.max(row.bandwidth_bytes, known?.bandwidth_bytes ?? 0),
          function_invocations: Math.max(row.function_invocations, known?.function_invocations ?? 0),
        }
        return [row.app_id, { limits: limitsOf(plans, row.name), used }]
      }),
    )
    this.#month = month.getTime()
  }
}
