import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Catalog, DatabaseFunction } from '../../../database/catalog/model.ts'
import type { CapturingCall, ChangeLog } from '../../../database/change-log.ts'
import { type Answer, StatementFailed } from '../../../database/connection/message.ts'
import { databaseErrors } from '../../../database/errors/errors.ts'
import type { UserDatabase } from '../../../database/user-database.ts'
import { requireProcedure, tokenRequired } from '../../../http/access/grants.ts'
import {
  type Caller,
  createCatalogAccess,
  fill,
  formatPage,
  type ListPlan,
  lacksColumns,
  type PlanContext,
  parseListQuery,
  planList,
  type Reader,
  type ReadLimits,
  readerOf,
  requireFittingValue,
  type SearchDefinitions,
  StatementCache,
  type Template,
} from '../collections/index.ts'
import type { WritesOnce } from '../idempotency/index.ts'
import { findFaultOfRequest } from './argument-faults.ts'
import { parseBody, splitQuery, writeBody } from './arguments.ts'
import { argumentsSlot, compilePage, compileSet, compileSingle } from './compile.ts'
import { procedureErrors, unknownProcedureKinds } from './errors.ts'
import { explainFailure, writesByPost } from './failures.ts'
import {
  compileNotification,
  findNotification,
  type Notification,
  type NotifyHeaders,
} from './notification.ts'
import { parameterNames, resolve, type Target } from './resolve.ts'
import { isSet, relationOfResult } from './result.ts'

/** What the procedure endpoints do. Both answer JSON text; undefined of a function that returns nothing. */
export interface ProcedureService {
  /** Calls a function with the arguments of a body. */
  call(
    caller: Caller,
    procedure: string,
    request: { readonly body: string; readonly queryString: string; readonly notify: NotifyHeaders },
  ): Promise<string | undefined>
  /** Calls a function that only reads, with the arguments of a query string. */
  read(caller: Caller, procedure: string, queryString: string): Promise<string | undefined>
}

export interface ProcedureDeps {
  readonly catalog: LiveCatalog
  readonly database: Pick<UserDatabase, 'run'>
  readonly writesOnce: WritesOnce
  readonly changes: ChangeLog
  readonly searches: SearchDefinitions
  readonly limits: ReadLimits
  /** Whether changes of some tables are recorded with the request that made them. */
  /** Whether errors of the operator's own definitions carry the text of PostgreSQL for everybody. */
  readonly isDevelopment: boolean
}

interface Request {
  readonly caller: Caller
  readonly target: Target
  /** The arguments as a JSON text. */
  readonly json: string
  /** Parameters of a list as sent. */
  readonly list: string
  readonly isReadOnly: boolean
  readonly notification: Notification | undefined
}

/** A compiled call. */
interface Plan {
  readonly template: Template
  /** Of a page. */
  readonly list: ListPlan | undefined
  readonly notification: Template | undefined
}

export function createProcedureService(deps: ProcedureDeps): ProcedureService {
  const { catalog: live, database, writesOnce, changes, searches, limits, isDevelopment } = deps
  const statements = new StatementCache()
  const withCatalog = createCatalogAccess(live, unknownProcedureKinds)

  function compile(catalog: Catalog, { caller, target, list, notification }: Request): Plan {
    const { called, passed, takesBody } = target
    const reader = readerOf(caller)
    const announced = notification && [notification.relation.collection, notification.action]
    const names = passed.map(({ name }) => name)
    const key = JSON.stringify([reader, called.version, takesBody, names, list, announced])
    return statements.remember(catalog, key, () => {
      const plan = list === '' ? undefined : planPage({ catalog, reader, searches, limits }, called, list)
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

  function captureNotification(
    caller: Caller,
    { relation, action }: Notification,
  ): CapturingCall | undefined {
    return changes.capture(relation, action, 'array', lacksColumns(relation, readerOf(caller)))
  }

  async function run(catalog: Catalog, request: Request): Promise<string | undefined> {
    const { caller, target, isReadOnly } = request
    const capture = request.notification && captureNotification(caller, request.notification)
    // Elsewhere triggers log what the function writes.
    const notification = capture?.takesChanges === true ? request.notification : undefined
    const plan = compile(catalog, { ...request, notification })
    const steps = [
      fill(plan.template, { [argumentsSlot]: request.json }),
      ...(capture === undefined || plan.notification === undefined
        ? []
        : [fill(plan.notification, {}), { ...capture.call, asLogin: true }]),
    ]
    try {
      const { scope, key, isAbandoned } = caller
      // What a procedure writes is recorded by triggers, which read the origin.
      const origin = isReadOnly ? undefined : caller.origin?.()
      const options = { isRead: isReadOnly, isReadOnly, isAbandoned, origin }
      const result = await writesOnce.run({ key, scope, steps, options }, ([answer]) =>
        format(target.called, plan.list, answer),
      )
      if (capture !== undefined) changes.committed()
      return result
    } catch (error) {
      if (!(error instanceof StatementFailed)) throw error
      const showsText = isDevelopment || caller.isAdministrator
      const { called } = target
      const overloads = catalog.procedures.get(called.procedure) ?? []
      const failed = { ...request, list: plan.list }
      const context = {
        ...{ called, overloads, isReadOnly, showsText },
        findFaultOfRequest: () => findFaultOfRequest({ database, statements }, error, failed),
      }
      throw (await explainFailure(error, context)) ?? error
    }
  }

  return {
    call: (caller, procedure, { body, queryString, notify }) =>
      withCatalog(async (catalog) => {
        const overloads = requireOverloads(catalog, caller, procedure)
        const { list, firstListParameter } = splitQuery(procedure, queryString, [])
        const { json, members } = parseBody(body)
        const target = resolve(overloads, members && Object.keys(members))
        for (const parameter of target.passed) requireFittingValue(parameter, members?.[parameter.name])
        requireSet(target, firstListParameter)
        const reader = readerOf(caller)
        const notification = findNotification(catalog, target.called, { scope: caller.scope, reader }, notify)
        return await run(catalog, { caller, target, json, list, isReadOnly: false, notification })
      }),

    read: (caller, procedure, queryString) =>
      withCatalog(async (catalog) => {
        const overloads = requireOverloads(catalog, caller, procedure)
        const known = parameterNames(overloads)
        const { given, list, firstListParameter } = splitQuery(procedure, queryString, known)
        const target = resolve(overloads, [...given.keys()])
        if (target.called.volatility === 'volatile') throw writesByPost()
        const json = writeBody(target.passed, given)
        const members: Readonly<Record<string, unknown>> = JSON.parse(json)
        for (const parameter of target.passed) requireFittingValue(parameter, members[parameter.name])
        requireSet(target, firstListParameter)
        const notification = undefined
        return await run(catalog, { caller, target, json, list, isReadOnly: true, notification })
      }),
  }
}

/** Those of this name that the caller may execute. @throws AppError insufficient_scope, function_not_found, … */
function requireOverloads(catalog: Catalog, caller: Caller, procedure: string): readonly DatabaseFunction[] {
  // Before the catalog is asked: a program does not learn which other functions there are.
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

function mayExecute({ callersMayExecute, anonymousMayExecute }: DatabaseFunction, reader: Reader): boolean {
  return reader === 'unrestricted' || (reader === 'anonymous' ? anonymousMayExecute : callersMayExecute)
}

function requireSet({ called }: Target, listParameter: string | undefined): void {
  if (listParameter !== undefined && !isSet(called)) {
    throw procedureErrors.notASet(listParameter, called.procedure)
  }
}

function planPage(
  context: PlanContext & { readonly limits: ReadLimits },
  called: DatabaseFunction,
  list: string,
): ListPlan {
  const { limits } = context
  const query = parseListQuery(list)
  // What it consists of are parameters of pages alone.
  if ('aggregate' in query) throw new Error('an aggregate is no page')
  const plan = planList(context, relationOfResult(called), query, limits)
  const { paging } = plan
  // The rows are made anyway: to count them is no dearer than an estimate.
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
