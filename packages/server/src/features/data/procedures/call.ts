import type { Catalog, DatabaseFunction } from '../../../database/catalog/model.ts'
import { type Answer, StatementFailed } from '../../../database/connection/message.ts'
import { databaseErrors } from '../../../database/errors/errors.ts'
import { requireProcedure, tokenRequired } from '../../../http/access/grants.ts'
import {
  type Caller,
  type CollectionDeps,
  fill,
  formatPage,
  type ListPlan,
  lacksColumns,
  type PlanContext,
  parseListQuery,
  planList,
  type ReadLimits,
  readerOf,
  requireFittingValue,
  type StatementCache,
  type Template,
  withCatalog,
} from '../collections/index.ts'
import { argumentsSlot, compilePage, compileSet, compileSingle } from './compile.ts'
import { procedureErrors, unknownProcedureKinds } from './errors.ts'
import { explainFailure, writesByPost } from './failures.ts'
import {
  compileNotification,
  findNotification,
  type Notification,
  type NotifyHeaders,
} from './notification.ts'
import { mayExecute, type Target } from './resolve.ts'
import { isSet, relationOfResult } from './result.ts'

export interface ProcedureDeps
  extends Pick<
    CollectionDeps,
    'catalog' | 'writesOnce' | 'changes' | 'searches' | 'limits' | 'isDevelopment'
  > {
  readonly database: Pick<CollectionDeps['database'], 'run'>
}

/** Dependencies of the endpoints. */
export interface Procedures extends ProcedureDeps {
  readonly statements: StatementCache
}

export interface FunctionRequest {
  readonly caller: Caller
  readonly procedure: string
  readonly isReadOnly: boolean
  readonly notify?: NotifyHeaders
}

/** Overload that a request calls, and its arguments. */
interface Arguments {
  readonly target: Target
  /** Arguments as JSON text. */
  readonly json: string
  /** Members; undefined where the body is no object. */
  readonly members: Readonly<Record<string, unknown>> | undefined
  /** Parameters of a list as sent. */
  readonly list: string
  readonly firstListParameter: string | undefined
}

/** Compiled call. */
interface Plan {
  readonly template: Template
  /** Plan of the page; undefined without parameters of a list. */
  readonly list: ListPlan | undefined
  readonly notification: Template | undefined
}

/**
 * Calls a function and returns the result as JSON text; undefined for a function without a result.
 *
 * @param choose finds the overload by the arguments
 */
export function callFunction(
  procedures: Procedures,
  request: FunctionRequest,
  choose: (overloads: readonly DatabaseFunction[]) => Arguments,
): Promise<string | undefined> {
  const work = async (catalog: Catalog) => {
    const chosen = choose(requireOverloads(catalog, request))
    const { target, members, firstListParameter } = chosen
    for (const parameter of target.passed) requireFittingValue(parameter, members?.[parameter.name])
    if (firstListParameter !== undefined && !isSet(target.called)) {
      throw procedureErrors.notASet(firstListParameter, target.called.procedure)
    }
    return await run(procedures, catalog, request, chosen)
  }
  return withCatalog(procedures.catalog, work, unknownProcedureKinds)
}

async function run(
  procedures: Procedures,
  catalog: Catalog,
  { caller, isReadOnly, notify }: FunctionRequest,
  { target, json, list }: Arguments,
): Promise<string | undefined> {
  const { writesOnce, changes, searches } = procedures
  const { called } = target
  const { scope, key, isAbandoned, onPosition } = caller
  const reader = readerOf(caller)
  const announced = notify && findNotification(catalog, called, { scope, reader }, notify)
  const capture =
    announced &&
    changes.capture(announced.relation, announced.action, 'array', lacksColumns(announced.relation, reader))
  // In the other case triggers log the writes of the function.
  const notification = capture?.takesChanges === true ? announced : undefined
  const plan = compile(procedures, { catalog, reader, searches }, { target, list }, notification)
  const steps = [
    fill(plan.template, { [argumentsSlot]: json }),
    ...(capture === undefined || plan.notification === undefined
      ? []
      : [fill(plan.notification, {}), { ...capture.call, asLogin: true }]),
  ]
  // Triggers record the writes of a procedure, and read the origin.
  const origin = isReadOnly ? undefined : caller.origin?.()
  const options = {
    isRead: isReadOnly,
    isReadOnly,
    isAbandoned,
    origin,
    ...(isReadOnly ? {} : { onPosition }),
  }
  try {
    const result = await writesOnce.run({ key, scope, steps, options }, ([answer]) =>
      format(called, plan.list, answer),
    )
    if (capture !== undefined) changes.committed()
    return result
  } catch (error) {
    if (!(error instanceof StatementFailed)) throw error
    const overloads = catalog.procedures.get(called.procedure) ?? []
    const refuseWrite = isReadOnly ? writesByPost : undefined
    const call = { caller, target, overloads, json, refuseWrite, list: plan.list }
    throw (await explainFailure(procedures, error, call)) ?? error
  }
}

function compile(
  { statements, limits }: Procedures,
  context: PlanContext,
  { target, list }: Pick<Arguments, 'target' | 'list'>,
  notification: Notification | undefined,
): Plan {
  const { catalog, reader } = context
  const { called, passed, takesBody } = target
  const announced = notification && [notification.relation.collection, notification.action]
  const names = passed.map(({ name }) => name)
  const key = JSON.stringify([reader, called.version, takesBody, names, list, announced])
  return statements.remember(catalog, key, () => {
    const plan = list === '' ? undefined : planPage(context, limits, called, list)
    const fragment = !isSet(called)
      ? compileSingle(target, notification)
      : plan === undefined
        ? compileSet(target, notification)
        : compilePage(target, plan, notification)
    return {
      template: statements.template(fragment),
      list: plan,
      notification: notification && statements.template(compileNotification(notification, reader)),
    }
  })
}

/**
 * Returns the overloads of a name that the caller may execute.
 *
 * @throws AppError insufficient_scope, missing_authorization, function_not_found, insufficient_permissions
 */
function requireOverloads(
  catalog: Catalog,
  { caller, procedure }: FunctionRequest,
): readonly DatabaseFunction[] {
  // The scope is checked before the catalog is read, so that a program does not learn which other functions exist.
  requireProcedure(caller.scope, procedure)
  const overloads = catalog.procedures.get(procedure)
  const reader = readerOf(caller)
  const executable = overloads?.filter((each) => mayExecute(each, reader)) ?? []
  if (executable.length > 0) return executable
  if (reader === 'anonymous') throw tokenRequired()
  throw overloads === undefined
    ? procedureErrors.functionNotFound(procedure)
    : databaseErrors.insufficientPermissions()
}

function planPage(
  context: PlanContext,
  limits: ReadLimits,
  called: DatabaseFunction,
  list: string,
): ListPlan {
  const query = parseListQuery(list)
  // The parts are list parameters only.
  if ('aggregate' in query) throw new Error('an aggregate is no page')
  const plan = planList(context, relationOfResult(called), query, limits)
  const { paging } = plan
  // The function computes all rows anyway, so counting them costs no more than an estimate.
  return paging.kind === 'offset' && paging.total === 'estimated'
    ? { ...plan, paging: { ...paging, total: 'exact' } }
    : plan
}

function format(
  { result }: DatabaseFunction,
  list: ListPlan | undefined,
  answer: Answer | undefined,
): string | undefined {
  if (list !== undefined && answer !== undefined) return formatPage(list, [answer])
  if (result.kind === 'void') return undefined
  return answer?.rows[0]?.[0] ?? 'null'
}
