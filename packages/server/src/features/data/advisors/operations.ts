import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { noContent, ok, operation } from '../../../http/operation.ts'
import { type Answered, checkedByHandler, component, nullable } from '../../../http/schemas.ts'
import type { Clock } from '../../../lib/clock.ts'
import { parseInstant } from '../../../lib/instant.ts'
import { Type } from '../../../lib/type.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { Advice, type AdviceGroup, type Severity } from './advice.ts'
import { type AdvisorDeps, listAdvice } from './advisors.ts'
import type { PrefixFilters } from './collation-rules.ts'
import { deleteDismissal, putDismissal } from './dismissals.ts'
import { advisorErrors } from './errors.ts'

export interface AdvisorContext {
  readonly database: SystemDatabase
  readonly catalog: LiveCatalog
  readonly clock: Clock
  readonly listSearches: AdvisorDeps['listSearches']
  readonly listCaptured: AdvisorDeps['listCaptured']
  readonly prefixFilters: PrefixFilters
}

/** Options that all operations below share. */
const common = { guard: 'admin', permission: 'operations.read', tag: 'operations' } as const
const collection = '/api/admin/advisors'
const path = `${collection}/:id/dismissal`
const params = Type.Object({ id: Type.String() })

/** Maximum number of findings per response: with 20,000 tables there may be as many of one kind. */
const mostAdvice = 2000
const mostReasonLength = 500

const AdviceList = component(
  'AdviceList',
  Type.Object({
    items: Type.Array(Advice),
    count: Type.Integer({ description: 'Counts of all advice.' }),
    counts: Type.Object({
      error: Type.Integer(),
      warning: Type.Integer(),
      info: Type.Integer(),
      dismissed: Type.Integer(),
    }),
  }),
)

/** Options that all lists share. */
const listing = {
  ...common,
  method: 'GET',
  description: 'The most severe first, at most 2,000. `counts` leaves out dismissed advice.',
  success: ok(AdviceList),
} as const

const list = operation({
  ...listing,
  id: 'advisors.list',
  path: collection,
  summary: 'List advice about access, indexes and health of the database',
  handle: (context: AdvisorContext) => listOf(context, ['access', 'indexes', 'health']),
})

const listSecurity = operation({
  ...listing,
  id: 'advisors.listSecurity',
  path: `${collection}/security`,
  summary: 'List advice about access',
  handle: (context: AdvisorContext) => listOf(context, ['access']),
})

const listPerformance = operation({
  ...listing,
  id: 'advisors.listPerformance',
  path: `${collection}/performance`,
  summary: 'List advice about indexes and health of the database',
  handle: (context: AdvisorContext) => listOf(context, ['indexes', 'health']),
})

/** Lists the advice of these groups. */
async function listOf(
  context: AdvisorContext,
  groups: readonly AdviceGroup[],
): Promise<Answered<typeof AdviceList>> {
  const found = (await readAdvice(context)).filter(({ group }) => groups.includes(group))
  const counts: Record<Severity | 'dismissed', number> = { error: 0, warning: 0, info: 0, dismissed: 0 }
  for (const { severity, dismissal } of found) counts[dismissal === null ? severity : 'dismissed'] += 1
  return { items: found.slice(0, mostAdvice), count: found.length, counts }
}

const dismiss = operation({
  ...common,
  id: 'advisors.dismiss',
  permission: 'operations.write',
  method: 'PUT',
  path,
  summary: 'Dismiss advice',
  params,
  body: Type.Object({
    reason: Type.Optional(
      nullable(checkedByHandler({ maxLength: mostReasonLength, pattern: '^[^\\u0000]*$' }, Type.String())),
    ),
    until: Type.Optional(
      nullable(checkedByHandler({ format: 'date-time' }, Type.String()), {
        description: 'RFC 3339 time in the future. Without it, the dismissal does not end.',
      }),
    ),
  }),
  success: ok(Advice),
  async handle(context: AdvisorContext, { params: { id }, body, origin }) {
    const { reason = null, until = null } = body
    if (reason !== null && (reason.length > mostReasonLength || reason.includes('\0'))) {
      throw advisorErrors.invalidDismissal(`reason: at most ${mostReasonLength} characters, none of them NUL`)
    }
    const end = until === null ? null : readUntil(until, context.clock.now())
    const advice = (await readAdvice(context)).find((each) => each.id === id)
    if (advice === undefined) throw advisorErrors.adviceNotFound()
    const { rule, object } = advice
    const dismissal = await context.database.transaction(async (transaction) => {
      const stored = await putDismissal(transaction, { adviceId: id, rule, object, reason, until: end })
      const detail = { rule, object, reason, until: end?.toISOString() ?? null }
      await recordAudit(transaction, {
        actor: 'admin',
        action: 'advisors.dismiss',
        target: id,
        detail,
        origin,
      })
      return stored
    })
    return { ...advice, dismissal }
  },
})

const restore = operation({
  ...common,
  id: 'advisors.restore',
  permission: 'operations.write',
  method: 'DELETE',
  path,
  summary: 'Show dismissed advice again',
  params,
  success: noContent,
  async handle({ database }: AdvisorContext, { params: { id: target }, origin }) {
    await database.transaction(async (transaction) => {
      const detail = await deleteDismissal(transaction, target)
      if (detail === undefined) throw advisorErrors.adviceNotFound()
      await recordAudit(transaction, { actor: 'admin', action: 'advisors.restore', target, detail, origin })
    })
  },
})

/** Operations on advice. */
export const advisorOperations = [list, listSecurity, listPerformance, dismiss, restore]

/** Lists advice on the present database, so that objects that were just fixed have none. */
async function readAdvice({ catalog, clock: _, ...deps }: AdvisorContext) {
  await catalog.refresh(catalog.current)
  return await listAdvice({ ...deps, catalog: catalog.current })
}

function readUntil(text: string, now: Date): Date {
  const instant = parseInstant(text)
  if (instant === undefined) throw advisorErrors.invalidDismissal('until: expected an RFC 3339 time')
  if (instant <= now) throw advisorErrors.invalidDismissal('until: expected a time to come')
  return instant
}
