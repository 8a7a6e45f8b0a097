import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { Clock } from '../../../lib/clock.ts'
import { parseInstant } from '../../../lib/instant.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import type { Advice, Severity } from './advice.ts'
import { type AdvisorDeps, listAdvice, showDismissal } from './advisors.ts'
import { deleteDismissal, putDismissal } from './dismissals.ts'
import { advisorErrors } from './errors.ts'

/** Advice of one answer: with 20,000 tables there may be as many of one kind. */
const mostAdvice = 2000
const reasonLimit = 500

export interface AdvisorServiceDeps {
  readonly database: SystemDatabase
  readonly catalog: LiveCatalog
  readonly clock: Clock
  readonly listSearches: AdvisorDeps['listSearches']
  readonly listCaptured: AdvisorDeps['listCaptured']
}

export interface GivenDismissal {
  readonly reason?: string | null
  readonly until?: string | null
}

export function createAdvisorService(deps: AdvisorServiceDeps) {
  const { database, catalog, clock, listSearches, listCaptured } = deps

  async function current(): Promise<Advice[]> {
    // What was just mended is not to be shown any more.
    await catalog.refresh(catalog.current)
    return await listAdvice({ database, catalog: catalog.current, listSearches, listCaptured })
  }

  return {
    async list() {
      const found = await current()
      const counts: Record<Severity | 'dismissed', number> = { error: 0, warning: 0, info: 0, dismissed: 0 }
      for (const { severity, dismissal } of found) counts[dismissal === null ? severity : 'dismissed'] += 1
      return { items: found.slice(0, mostAdvice), count: found.length, counts }
    },

    /** @throws AppError advice_not_found, invalid_dismissal */
    async dismiss(id: string, { reason = null, until = null }: GivenDismissal, origin: RequestOrigin) {
      if (reason !== null && (reason.length > reasonLimit || reason.includes('\0')))
        throw advisorErrors.invalidDismissal(`reason: at most ${reasonLimit} characters, none of them NUL`)
      const end = until === null ? null : readUntil(until, clock.now())
      const advice = (await current()).find((each) => each.id === id)
      if (advice === undefined) throw advisorErrors.adviceNotFound()
      const { rule, object } = advice
      const row = await database.transaction(async (transaction) => {
        const stored = await putDismissal(transaction, { adviceId: id, rule, object, reason, until: end })
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'advisors.dismiss',
          target: id,
          detail: { rule, object, reason, until: end?.toISOString() ?? null },
          origin,
        })
        return stored
      })
      return { ...advice, dismissal: showDismissal(row) }
    },

    /** @throws AppError advice_not_found when it was not dismissed */
    async restore(id: string, origin: RequestOrigin): Promise<void> {
      await database.transaction(async (transaction) => {
        const removed = await deleteDismissal(transaction, id)
        if (removed === undefined) throw advisorErrors.adviceNotFound()
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'advisors.restore',
          target: id,
          detail: removed,
          origin,
        })
      })
    },
  }
}

export type AdvisorService = ReturnType<typeof createAdvisorService>

function readUntil(text: string, now: Date): Date {
  const instant = parseInstant(text)
  if (instant === undefined) throw advisorErrors.invalidDismissal('until: expected an RFC 3339 time')
  if (instant <= now) throw advisorErrors.invalidDismissal('until: expected a time to come')
  return instant
}
