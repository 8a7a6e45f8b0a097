import type { FastifyReply, FastifyRequest } from 'fastify'
import { adminOf } from '../../../http/access/authentication.ts'
import { readViewReason, requirePermission } from '../../../http/access/grants.ts'
import { holds } from '../../../http/access/permissions.ts'
import { ok, operation } from '../../../http/operation.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import { untilDisconnected } from '../../../http/responses/disconnection.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { requireRelation, withCatalog } from '../collections/index.ts'
import { clauseOf } from './applicable-policies.ts'
import { saveCase } from './cases/save-case.ts'
import { compare } from './comparison/compare.ts'
import type { AccessContext, Examination } from './context.ts'
import { accessErrors } from './errors.ts'
import { evaluateParts } from './evaluation/evaluated-expression.ts'
import { planStages } from './evaluation/stages.ts'
import type { ExaminedCaller } from './examined-caller.ts'
import { explain } from './explanation/explain.ts'
import { explainUnexposed } from './explanation/unexposed-table.ts'
import { rehearse } from './rehearsal/rehearsal.ts'
import { findRow } from './rows/subjects.ts'
import {
  type CallerReference,
  CompareRequest,
  Comparison,
  ExplainRequest,
  Explanation,
  ExpressionPart,
  PartsRequest,
  SavedCase,
  SaveRequest,
} from './schemas.ts'

/** Options that all operations below share. */
const common = { guard: 'admin', permission: 'access.explain', tag: 'access', method: 'POST' } as const
const path = '/api/admin/access'

const explainAccess = operation({
  ...common,
  id: 'access.explain',
  path: `${path}/explain`,
  summary: 'Explain why a caller may or may not do something with rows',
  description:
    'Returns the gates before the policies, the verdict of each policy on each row, their combined verdict, and the response of the data API itself. Writes go through the data API and are undone. Sequence numbers that were used are not returned.',
  body: ExplainRequest,
  success: ok(Explanation),
  async handle(context: AccessContext, { body, http }, reply) {
    // Triggers of the table run, although their changes are undone.
    if (body.action !== undefined && body.action !== 'select') requirePermission(adminOf(http), 'rows.write')
    const caller = await context.callers.find(body.as)
    await record(context, 'explain', [body.as], body, http)
    const unexposed = await explainUnexposed(context, caller, body)
    return (
      unexposed ??
      (await rehearseFor(context, caller, body.table, reply, (examination) => explain(examination, body)))
    )
  },
})

const takeApart = operation({
  ...common,
  id: 'access.takeApart',
  path: `${path}/parts`,
  summary: 'Split the expression of a policy into parts for one row',
  description:
    'For the first of the rows: the value of each part that AND, OR and NOT combine, and of both sides of comparisons.',
  body: PartsRequest,
  success: ok(ExpressionPart),
  async handle(context: AccessContext, { body, http }, reply) {
    const { action = 'select' } = body
    const caller = await context.callers.find(body.as)
    await record(context, 'take_apart', [body.as], body, http)
    return await rehearseFor(context, caller, body.table, reply, async (examination) => {
      const { rehearsal, relation } = examination
      const stage = planStages(relation, caller.scope.kind, action)[body.stage]
      const policy = stage?.policies.find(({ name }) => name === body.policy)
      if (stage === undefined || policy === undefined) {
        throw accessErrors.policyNotFound(body.policy, relation.collection)
      }
      const clause = clauseOf(policy, stage.clause)
      const row = await findRow(examination, body, stage)
      return clause === undefined ? alwaysTrue : await evaluateParts(rehearsal, relation, row, clause)
    })
  },
})

const alwaysTrue = { text: 'true', operator: undefined, value: true, terms: [], sides: [] }

const compareAccess = operation({
  ...common,
  id: 'access.compare',
  permission: 'structure.write',
  path: `${path}/compare`,
  summary: 'Compare what callers may do before and after a change of a policy',
  description:
    'The changed expressions are evaluated over rows. No definition is changed, and no table is locked. ' +
    'Expressions of the role `developer` may call a list of functions.',
  body: CompareRequest,
  success: ok(Comparison),
  async handle(context: AccessContext, { body, http }, reply) {
    if (!holds(adminOf(http).role, 'owner')) {
      const { using, check } = body.policy
      if (using !== undefined) context.requireSafe(using, 'policy.using')
      if (check !== undefined) context.requireSafe(check, 'policy.check')
    }
    const references = body.as ?? (await context.callers.sample())
    const callers = await Promise.all(references.map((as) => context.callers.find(as)))
    await record(context, 'compare', references, body, http)
    return await compare(body, callers, (caller, work) =>
      rehearseFor(context, caller, body.table, reply, work),
    )
  },
})

const saveAccessCase = operation({
  ...common,
  id: 'access.saveCase',
  permission: 'structure.write',
  path: `${path}/cases`,
  summary: 'Create a case for `basalt policy test` from an explanation',
  body: SaveRequest,
  success: ok(SavedCase),
  async handle(context: AccessContext, { body, http }, reply) {
    const caller = await context.callers.find(body.as)
    await record(context, 'save_case', [body.as], body, http)
    return await rehearseFor(context, caller, body.table, reply, (examination) => saveCase(examination, body))
  },
})

/** Operations that explain the access of callers. */
export const policyOperations = [explainAccess, takeApart, compareAccess, saveAccessCase]

/** Records in the audit log that an administrator examines callers, before anything is read. */
async function record(
  { database }: AccessContext,
  name: string,
  callers: readonly CallerReference[],
  request: ExplainRequest | CompareRequest,
  http: FastifyRequest,
): Promise<void> {
  const { table, action = 'select' } = request
  const policy = 'policy' in request ? { policy: request.policy } : {}
  const isOfUser = callers.some(({ kind }) => kind !== 'anonymous')
  const reason = isOfUser
    ? readViewReason(adminOf(http), 'reason' in request ? request.reason : undefined)
    : undefined
  const detail = {
    as: callers.map(describeReference),
    action,
    ...policy,
    ...(reason === undefined ? {} : { reason }),
  }
  await recordAudit(database.system, {
    actor: 'admin',
    action: `access.${name}`,
    target: table,
    detail,
    origin: originOf(http),
  })
}

/** Describes a caller for the audit log, without claims about an address. */
function describeReference({ kind, id, email, clientId, userId }: CallerReference): string {
  return [kind, id ?? email ?? clientId, userId].filter((part) => part !== undefined).join(' ')
}

/** Runs work on a table as a caller, in a rehearsal that ends when the client disconnects. */
async function rehearseFor<Result>(
  context: AccessContext,
  caller: ExaminedCaller,
  table: string,
  reply: FastifyReply,
  work: (examination: Examination) => Promise<Result>,
): Promise<Result> {
  const { database, slots } = context
  const signal = untilDisconnected(reply)
  // The explanation may be about a policy or grant that was just made.
  await context.catalog.refresh()
  return await withCatalog(context.catalog, async (catalog) => {
    const relation = requireRelation(catalog, table, 'unrestricted')
    return await slots.take('explanation', mostExplanations, () =>
      rehearse(database, caller.scope, signal, (rehearsal) =>
        work({ context, rehearsal, catalog, relation, caller }),
      ),
    )
  })
}

/** Maximum number of concurrent explanations on this node. */
const mostExplanations = 3
