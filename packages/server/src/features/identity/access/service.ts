import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Catalog, Relation } from '../../../database/catalog/model.ts'
import type { Database } from '../../../database/open.ts'
import type { RequestOrigin } from '../../../http/request-origin.ts'
import { createCatalogAccess, type ListPlan, requireRelation } from '../../data/collections/index.ts'
import { clauseOf } from '../../data/policies/index.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import type { Callers, ExaminedCaller } from './callers.ts'
import { type Comparison, compare } from './compare.ts'
import { accessErrors } from './errors.ts'
import { type Explanation, explain, findRow } from './explain.ts'
import { evaluateParts, type ValuedPart } from './expression-parts.ts'
import type { OpenCollections } from './production.ts'
import { type Rehearsal, rehearse } from './rehearsal.ts'
import { type SavedCase, saveCase } from './save.ts'
import type { As, CompareRequest, ExplainRequest, PartsRequest, SaveRequest } from './schemas.ts'
import type { Slots } from './slots.ts'
import { planStages } from './stages.ts'
import { explainUnexposed } from './unexposed.ts'

export interface AccessContext {
  readonly database: Pick<Database, 'system' | 'user' | 'aside'>
  readonly catalog: LiveCatalog
  readonly callers: Callers
  readonly openCollections: OpenCollections
  /** The rows that a list of the administrator would read. */
  readonly planRows: (catalog: Catalog, relation: Relation, queryString: string) => ListPlan
  /** Writes a file of cases, where the project has them, and answers its path. @throws OperatorError where there is one */
  readonly writeCases: (name: string, content: string) => string
  /** Each explanation holds a connection. */
  readonly slots: Slots
}

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

  /** Whoever looks through the eyes of another leaves a trace of it, before anything is answered. */
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
    work: (rehearsal: Rehearsal, catalog: Catalog, relation: Relation) => Promise<Result>,
  ): Promise<Result> {
    // A policy or grant of just now is what is asked about.
    await context.catalog.refresh()
    return await withCatalog(async (catalog) => {
      const relation = requireRelation(catalog, table, 'unrestricted')
      return await slots.use(() =>
        rehearse(database, caller.scope, signal, (rehearsal) => work(rehearsal, catalog, relation)),
      )
    })
  }

  return {
    async explain(request, asking) {
      const caller = await callers.find(request.as)
      await record('explain', [request.as], request, asking.origin)
      const unexposed = await explainUnexposed(context, caller, request)
      if (unexposed !== undefined) return unexposed
      return await inRehearsal(caller, request.table, asking, (rehearsal, catalog, relation) =>
        explain(context, rehearsal, catalog, relation, caller, request),
      )
    },

    async takeApart(request, asking) {
      const { action = 'select' } = request
      const caller = await callers.find(request.as)
      await record('take_apart', [request.as], request, asking.origin)
      return await inRehearsal(caller, request.table, asking, async (rehearsal, catalog, relation) => {
        const stage = planStages(relation, caller.scope.kind, action)[request.stage]
        const policy = stage?.policies.find(({ name }) => name === request.policy)
        if (stage === undefined || policy === undefined) {
          throw accessErrors.policyNotFound(request.policy, relation.collection)
        }
        const clause = clauseOf(policy, stage.clause)
        const row = await findRow(context, rehearsal, catalog, relation, request, stage)
        if (clause === undefined) return alwaysTrue
        return await evaluateParts(rehearsal, relation, row, clause)
      })
    },

    async compare(request, asking) {
      const asked = request.as ?? (await callers.sample())
      const examined = await Promise.all(asked.map((as) => callers.find(as)))
      await record('compare', asked, request, asking.origin)
      return await compare(request, examined, (caller, work) =>
        inRehearsal(caller, request.table, asking, (rehearsal, catalog, relation) =>
          work({ context, rehearsal, catalog, relation, caller }),
        ),
      )
    },

    async save(request, asking) {
      const caller = await callers.find(request.as)
      await record('save_case', [request.as], request, asking.origin)
      return await inRehearsal(caller, request.table, asking, (rehearsal, catalog, relation) =>
        saveCase({ context, rehearsal, catalog, relation, caller }, request),
      )
    },
  }
}

const alwaysTrue: ValuedPart = { text: 'true', operator: undefined, value: true, terms: [], sides: [] }

/** For the audit: who, without what was claimed of an address. */
function nameCaller({ kind, id, email, clientId, userId }: As): string {
  return [kind, id ?? email ?? clientId, userId].filter((part) => part !== undefined).join(' ')
}
