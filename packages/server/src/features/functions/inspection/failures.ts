import { allOf, when } from '../../../database/conditions.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { readFrames, StackFrame } from '../runtime/index.ts'

/** Maximum numbers of errors in a search of the log, and of warnings and errors that it reads. */
const scanLimit = 2000
const readLimit = 20_000

export const FunctionError = component(
  'FunctionFailure',
  Type.Object({
    time: timestamp,
    function: Type.String(),
    message: nullable(Type.String(), { description: 'null for the role `viewer`.' }),
    stack: nullable(Type.String(), {
      description: 'null for the role `viewer`, and for errors without one.',
    }),
    frames: Type.Array(StackFrame, {
      description: 'Frames in the code of the functions, the innermost first.',
    }),
    requestId: nullable(Type.String()),
    node: Type.String(),
  }),
)
export type FunctionError = Answered<typeof FunctionError>

interface ErrorRow extends Record<string, unknown> {
  readonly time: Date
  readonly function: string
  readonly message: string
  readonly stack: string | null
  readonly requestId: string | null
  readonly node: string
}

export interface ErrorFilter {
  readonly function: string | undefined
  readonly limit: number
}

/**
 * Lists errors of functions from the log, the newest first. An index has the warnings and errors of the log, and the newest
 * {@link scanLimit} errors of the last week are searched, if they are among the newest {@link readLimit} of both.
 *
 * @param folder of the functions on this machine
 * @param isBrief true for callers who may not read contents
 */
export async function listFailures(
  database: Queryable,
  { function: name, limit }: ErrorFilter,
  { folder, isBrief }: { readonly folder: string; readonly isBrief: boolean },
): Promise<FunctionError[]> {
  const rows = await database.many<ErrorRow>(sql`
    select time, "function", message, stack, "requestId", node
    from (
      select id, logged_at as time, node, request_id as "requestId",
        coalesce(attrs ->> 'function', attrs #>> '{err,function}') as "function",
        coalesce(attrs #>> '{failure,message}', attrs #>> '{err,message}', message) as message,
        coalesce(attrs #>> '{failure,stack}', attrs #>> '{err,stack}') as stack,
        attrs #>> '{err,type}' = 'FunctionFailure' or attrs ? 'failure' and attrs ->> 'source' = 'functions' as matches
      from (
        select id, logged_at, message, attrs, node, request_id
        from (
          select id, logged_at, level, message, attrs, node, request_id from basalt.logs
          where level >= 40 and logged_at >= now() - interval '7 days'
          order by logged_at desc, id desc
          limit ${readLimit}::int
        ) problem
        where level >= 50
        order by logged_at desc, id desc
        limit ${scanLimit}::int
      ) newest
    ) found
    where ${allOf([sql`matches`, sql`"function" is not null`, when(name, (text) => sql`"function" = ${text}`)])}
    order by time desc, id desc
    limit ${limit}::int`)
  return rows.map(({ message, stack, ...row }) =>
    isBrief
      ? { ...row, message: null, stack: null, frames: [] }
      : { ...row, message, stack, frames: stack === null ? [] : readFrames(stack, folder) },
  )
}
