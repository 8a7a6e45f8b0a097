import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { createCatalogAccess, requireRelation } from '../../data/collections/index.ts'
import { clauseOf } from '../../data/policies/index.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import type { ExaminedCaller } from './caller/callers.ts'
import { type SavedCase, saveCase } from './cases/save-case.ts'
import { type Comparison, compare } from './comparison/compare.ts'
import type { AccessContext, Look } from './context.ts'
import { accessErrors } from './errors.ts'
import { evaluateParts, type ValuedPart } from './evaluation/evaluated-expression.ts'
import { planStages } from './evaluation/stages.ts'
import { explain } from './explanation/explain.ts'
import { explainUnexposed } from './explanation/unexposed-table.ts'
import { rehearse } from './rehearsal/rehearsal.ts'
import { findRow } from './rows/subjects.ts'
import type { As, CompareRequest, ExplainRequest, Explanation, PartsRequest, SaveRequest } from './schemas.ts'

/** Who asks, and until when. */
export interface Asking {
  readonly origin: RequestOrigin
  readonly signal: AbortSignal
}

export interface AccessService {
  explain(request: ExplainRequest, asking: Asking): Promise<Explanation>
  takeApart(request: PartsRequest, asking: Asking): Promise<ValuedPart>
  compare(request: CompareRequest, asking: Asking): Promise<Comparison>
  save(request: SaveRequest, asking: Asking): Promise<SavedCase>
}

export function createAccessService(context: AccessContext): AccessService {
  const { database, callers, slots } = context
  const withCatalog = createCatalogAccess(context.catalog)

  /** Looking through the eyes of another leaves a trace, before anything is answered. */
  async function record(
    operation: string,
    asked: readonly As[],
    request: ExplainRequest | CompareRequest,
    origin: RequestOrigin,
  ) {
    const { table, action = 'select' } = request
    const detail = { as: asked.map(nameCaller), action }
    await recordAudit(database.system, {
      actor: 'admin',
      action: `access.${operation}`,
      target: table,
      detail,
      origin,
    })
  }

  async function inRehearsal<Result>(
    caller: ExaminedCaller,
    table: string,
    { signal }: Asking,
    work: (look: Look) => Promise<Result>,
  ): Promise<Result> {
    // A policy or grant of just now is what is asked about.
    await context.catalog.refresh()
    return await withCatalog(async (catalog) => {
      const relation = requireRelation(catalog, table, 'unrestricted')
      return await slots.use(() =>
        rehearse(database, caller.scope, signal, (rehearsal) =>
          work({ context, rehearsal, catalog, relation, caller }),
        ),
      )
    })
  }

  return {
    async explain(request, asking) {
      const caller = await callers.find(request.as)
      await record('explain', [request.as], request, asking.origin)
      const unexposed = await explainUnexposed(context, caller, request)
      if (unexposed !== undefined) return unexposed
      return await inRehearsal(caller, request.table, asking, (look) => explain(look, request))
    },

    async takeApart(request, asking) {
      const { action = 'select' } = request
      const caller = await callers.find(request.as)
      await record('take_apart', [request.as], request, asking.origin)
      return await inRehearsal(caller, request.table, asking, async (look) => {
        const { rehearsal, relation } = look
        const stage = planStages(relation, caller.scope.kind, action)[request.stage]
        const policy = stage?.policies.find(({ name }) => name === request.policy)
        if (stage === undefined || policy === undefined) {
          throw accessErrors.policyNotFound(request.policy, relation.collection)
        }
        const clause = clauseOf(policy, stage.clause)
        const row = await findRow(look, request, stage)
        return clause === undefined ? alwaysTrue : await evaluateParts(rehearsal, relation, row, clause)
      })
    },

    async compare(request, asking) {
      const asked = request.as ?? (await callers.sample())
      const examined = await Promise.all(asked.map((as) => callers.find(as)))
      await record('compare', asked, request, asking.origin)
      return await compare(request, examined, (caller, work) =>
        inRehearsal(caller, request.table, asking, work),
      )
    },

    async save(request, asking) {
      const caller = await callers.find(request.as)
      await record('save_case', [request.as], request, asking.origin)
      return await inRehearsal(caller, request.table, asking, (look) => saveCase(look, request))
    },
  }
}

const alwaysTrue: ValuedPart = { text: 'true', operator: undefined, value: true, terms: [], sides: [] }

/** For the audit: who, without what was claimed of an address. */
function nameCaller({ kind, id, email, clientId, userId }: As): string {
  return [kind, id ?? email ?? clientId, userId].filter((part) => part !== undefined).join(' ')
}
