import type { Readable } from 'node:stream'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { requireStepUp, tokenRequired } from '../../../http/access/grants.ts'
import { untilRefused } from '../../../http/access/until-refused.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { type Operation, ok, operation } from '../../../http/operation.ts'
import { hasDisconnected, untilDisconnected } from '../../../http/responses/disconnection.ts'
import { component, nullable } from '../../../http/schemas.ts'
import { AppError } from '../../../lib/errors.ts'
import { isStorableText } from '../../../lib/storable-text.ts'
import { Type } from '../../../lib/type.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { type Caller, callerOfIdentity } from '../../data/collections/index.ts'
import { findUserScope } from '../../data/view-as/index.ts'
import { recordAdminAction } from '../../operations/audit/index.ts'
import { describeCaller } from './caller-description.ts'
import { FunctionFailure } from './calls.ts'
import { runtimeErrors } from './errors.ts'
import type { FunctionHost } from './host.ts'
import type { RouteDescription } from './messages.ts'
import { readFrames, StackFrame } from './stack.ts'
import { StreamedResponse } from './streamed-response.ts'
import { CallTrace, TracedStatement } from './trace.ts'

/** Number of bytes of a streamed response that an invocation returns. */
const shownBytes = 65_536

interface InvocationDeps {
  readonly host: FunctionHost
  readonly database: SystemDatabase
  /** Folder of the functions on this machine. */
  readonly folder: string
}

/** Caller without a token. */
const anonymous = 'anonymous'
/** Maximum length of a reason that the audit log stores. */
const longestReason = 500

const Invocation = Type.Object(
  {
    name: Type.String({ description: 'Export of the route, or its file for a default export.' }),
    input: Type.Optional(Type.Unknown({ description: 'Input of the function.' })),
    params: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'Parameters of the path by name.' }),
    ),
    as: Type.Optional(
      Type.String({
        description:
          'Id of the user who calls, or `anonymous` for a request without a token. Default: the administrator.',
      }),
    ),
    commit: Type.Optional(
      Type.Boolean({ description: 'Keeps what the function has written. Default: false.' }),
    ),
    reason: Type.Optional(
      Type.String({ description: 'Reason for the audit log. `commit` requires it. At most 500 characters.' }),
    ),
  },
  { additionalProperties: false },
)

const FunctionInvocation = component(
  'FunctionInvocation',
  Type.Object({
    status: Type.Integer({ description: 'Status of the response that a client would get.' }),
    result: Type.Optional(
      Type.Unknown({
        description:
          'Result; missing for none, and after an error. For a streamed response, its first 65,536 bytes as a text.',
      }),
    ),
    error: nullable(
      Type.Object({
        error: Type.String(),
        message: Type.String(),
        stack: Type.Optional(Type.String({ description: 'Stack of an error other than a refusal.' })),
        frames: Type.Array(StackFrame),
      }),
    ),
    isCommitted: Type.Boolean({ description: 'True if the transaction was committed.' }),
    durationMs: Type.Number(),
    log: Type.Array(Type.String(), {
      description: 'Lines of the function: the level, the message and its fields. At most 200.',
    }),
    statements: Type.Array(TracedStatement, {
      description: 'Statements in the order in which they ended, without those of hooks. At most 200.',
    }),
    requestId: Type.String({ description: 'Id of the call in the log.' }),
  }),
)

const invoke = operation({
  id: 'functions.invoke',
  guard: 'admin',
  permission: 'owner',
  stepUp: 'byHandler',
  method: 'POST',
  path: '/api/admin/functions/invoke',
  tag: 'functions',
  summary: 'Call a route of the functions by its name',
  description:
    'The transaction is rolled back, unless `commit` is true. Then administrators with a second factor must have proved it within the last ten minutes. Requests to other services are not undone. The audit log has an entry before the call.',
  body: Invocation,
  success: ok(FunctionInvocation),
  async handle({ host, database, folder }: InvocationDeps, { body, http, origin }, reply) {
    const { name, input, params = {}, as, commit = false } = body
    const reason = readReason(body.reason, commit)
    if (commit) requireStepUp(adminOf(http))
    const found = host.routes?.named(name)
    if (found === undefined) throw runtimeErrors.functionNameNotFound(name)
    requireParams(found, params)
    const { requestId, address } = origin
    const isAbandoned = () => hasDisconnected(reply)
    const own = callerOfIdentity(adminOf(http), { requestId, address: () => address, isAbandoned })
    const caller = as === undefined ? own : await actAs(database, own, as)
    await recordAdminAction(database, 'functions.invoke', name, origin, {
      commit,
      ...(as === undefined ? {} : { as: as === anonymous ? as : `user ${as}` }),
      ...(reason === undefined ? {} : { reason }),
    })
    const message = {
      ...describeCaller(caller),
      request: { id: requestId, method: found.method, url: addressOf(found, params), headers: {} },
      params,
      input,
    }
    const trace = new CallTrace()
    const startedAt = performance.now()
    const ended = () => ({
      requestId,
      durationMs: Math.round((performance.now() - startedAt) * 10) / 10,
      log: trace.log,
      statements: trace.statements,
    })
    try {
      if (as !== undefined && found.access === 'admin') throw httpErrors.adminRequired()
      if (as === anonymous && found.access === 'user') throw tokenRequired()
      const json = await host.call(found, caller, message, {
        requestId,
        signal: AbortSignal.any([untilDisconnected(reply), untilRefused(http, reply)]),
        isUndone: !commit,
        observer: trace,
        administrator: origin.administrator,
        identity: as === undefined ? adminOf(http) : undefined,
      })
      if (json instanceof StreamedResponse) {
        const { head, body } = json
        const seconds = host.limitsOf(found).seconds
        const result = body === undefined ? {} : { result: await readBeginning(body, seconds) }
        return { status: head.status, ...result, error: null, isCommitted: commit, ...ended() }
      }
      const result = json === undefined ? {} : { result: JSON.parse(json) as unknown }
      return {
        status: json === undefined ? 204 : 200,
        ...result,
        error: null,
        isCommitted: commit,
        ...ended(),
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const described = describe(error, folder)
      return { status: error.status, error: described, isCommitted: false, ...ended() }
    }
  },
})

export const invocationOperations: readonly Operation<InvocationDeps>[] = [invoke]

/** Returns the reason without surrounding spaces. @throws AppError invalid_invocation */
function readReason(given: string | undefined, isRequired: boolean): string | undefined {
  const reason = given?.trim() ?? ''
  if (reason.length > longestReason || !isStorableText(reason))
    throw runtimeErrors.invalidInvocation(
      `reason: expected at most ${longestReason} characters of Unicode text without NUL`,
    )
  if (reason !== '') return reason
  if (isRequired)
    throw runtimeErrors.invalidInvocation(
      'reason: required with commit, which keeps what the function writes',
    )
  return undefined
}

/** Returns the caller as a user, or without a token. @throws AppError invalid_invocation */
async function actAs(database: SystemDatabase, own: Caller, as: string): Promise<Caller> {
  const origin = own.origin?.()
  const caller = (scope: Caller['scope'], actor: string): Caller => ({
    ...own,
    scope,
    isAdministrator: false,
    ...(origin === undefined ? {} : { origin: () => ({ ...origin, actor }) }),
  })
  if (as === anonymous) return caller({ kind: 'anonymous' }, 'admin as anonymous')
  if (!isUuid(as)) throw runtimeErrors.invalidInvocation('as: expected the id of a user, or anonymous')
  const scope = await findUserScope(database, as)
  if (scope === undefined) throw runtimeErrors.invalidInvocation('as: no user has this id')
  return caller(scope, 'admin as user')
}

/** Checks that there is a text for each parameter of the path, and no other. @throws AppError invalid_invocation */
export function requireParams({ path }: RouteDescription, params: Readonly<Record<string, string>>): void {
  const names = path.split('/').flatMap((segment) => (segment.startsWith(':') ? segment.slice(1) : []))
  const missing = names.find((name) => !Object.hasOwn(params, name))
  if (missing !== undefined) throw runtimeErrors.invalidInvocation(`params.${missing}: expected a text`)
  const unknown = Object.keys(params).find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw runtimeErrors.invalidInvocation(`params: ${path} has no parameter ${JSON.stringify(unknown)}`)
}

/** Returns the address that a client would call. */
export function addressOf({ path }: RouteDescription, params: Readonly<Record<string, string>>): string {
  const segments = path
    .split('/')
    .map((segment) =>
      segment.startsWith(':') ? encodeURIComponent(params[segment.slice(1)] ?? '') : segment,
    )
  return `/api/functions${segments.join('/')}`
}

/** Reads the first bytes of a body, as far as they arrive in time. A cut body ends there. */
async function readBeginning(body: Readable, seconds: number): Promise<string> {
  const timer = setTimeout(() => body.destroy(), seconds * 1000)
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      size += chunk.length
      if (size >= shownBytes) break
    }
  } catch {
    // The log has the reason.
  } finally {
    clearTimeout(timer)
  }
  return Buffer.concat(chunks).toString('utf8', 0, shownBytes)
}

function describe({ kind, message, cause }: AppError, folder: string) {
  const stack = cause instanceof FunctionFailure ? cause.stack : undefined
  const frames = stack === undefined ? [] : readFrames(stack, folder)
  return { error: kind, message, ...(stack === undefined ? {} : { stack }), frames }
}
