import type { FastifyRequest } from 'fastify'
import type { Catalog } from '../../../database/catalog/model.ts'
import { asText, noContent, ok, operation } from '../../../http/operation.ts'
import { Type } from '../../../lib/type.ts'
import { admitWhere, bodyOf, callerOf, queryOf } from '../collections/index.ts'
import { idempotencyHeaders } from '../idempotency/index.ts'
import { parseBody, splitQuery, writeBody } from './arguments.ts'
import { callFunction, type Procedures } from './call.ts'
import { writesByPost } from './failures.ts'
import { parameterNames, resolve } from './resolve.ts'

/**
 * Operations that call functions of the database. Bodies stay text, because PostgreSQL parses them. What is valid
 * depends on the function.
 */

const params = Type.Object({
  procedure: Type.String({ description: 'A function. Outside `public` it is written `schema.function`.' }),
})

const listQuery = {
  filter: Type.Optional(Type.String({ description: 'Filter on the rows of a set, as in a list.' })),
  sort: Type.Optional(
    Type.String({ description: 'Order of a set: comma-separated columns; `-` sorts descending.' }),
  ),
  fields: Type.Optional(Type.String({ description: 'Columns of a set, comma-separated.' })),
  page: Type.Optional(Type.Integer()),
  perPage: Type.Optional(Type.Integer({ description: '1 to 500, 20 unless values.' })),
  skipTotal: Type.Optional(Type.Boolean()),
}

const result = Type.Unknown({
  description:
    'One value, one row as an object, or an array of rows. With a parameter of a list, a page as in a list.',
})

const common = {
  guard: 'data',
  permission: 'rows.write',
  path: '/api/rpc/:procedure',
  tag: 'procedures',
  params,
  success: asText(ok(result)),
  otherResponses: { 204: noContent.body },
  admitsAnonymous: (request: FastifyRequest, { catalog }: Procedures) =>
    admitWhere(catalog, isExecutable, request),
} as const

const call = operation({
  ...common,
  id: 'rpc.call',
  method: 'POST',
  programs: 'write',
  summary: 'Call a function',
  headers: Type.Object({
    ...idempotencyHeaders,
    'x-notify-table': Type.Optional(
      Type.String({ description: 'A collection. Each returned row is announced as a change of it.' }),
    ),
    'x-notify-action': Type.Optional(Type.String({ description: 'create, update or delete' })),
  }),
  query: Type.Object(listQuery),
  body: Type.Optional(
    Type.Object({}, { additionalProperties: true, description: 'The arguments, by name.' }),
  ),
  async handle(procedures: Procedures, { http, params: { procedure } }, reply) {
    const notify = { table: textOf(http, 'x-notify-table'), action: textOf(http, 'x-notify-action') }
    const request = { caller: callerOf(http, reply), procedure, isReadOnly: false, notify }
    const answer = await callFunction(procedures, request, (overloads) => {
      const { list, firstListParameter } = splitQuery(procedure, queryOf(http), [])
      const { json, members } = parseBody(bodyOf(http))
      const target = resolve(overloads, members && Object.keys(members))
      return { target, json, members, list, firstListParameter }
    })
    if (answer === undefined) void reply.code(204)
    return answer
  },
})

const read = operation({
  ...common,
  id: 'rpc.read',
  method: 'GET',
  programs: 'read',
  summary: 'Call a function that is declared stable or immutable, in a read-only transaction',
  query: Type.Object(listQuery, {
    additionalProperties: true,
    description: 'The arguments, by name, and the parameters of a list.',
  }),
  async handle(procedures: Procedures, { http, params: { procedure } }, reply) {
    const request = { caller: callerOf(http, reply), procedure, isReadOnly: true }
    const answer = await callFunction(procedures, request, (overloads) => {
      const { values, ...list } = splitQuery(procedure, queryOf(http), parameterNames(overloads))
      const target = resolve(overloads, [...values.keys()])
      if (target.called.volatility === 'volatile') throw writesByPost()
      const json = writeBody(target.passed, values)
      return { target, json, members: JSON.parse(json), ...list }
    })
    if (answer === undefined) void reply.code(204)
    return answer
  },
})

export const procedureOperations = [call, read]

function isExecutable({ procedures }: Catalog, { params: of }: FastifyRequest): boolean {
  // The path of both operations has the parameter.
  const { procedure } = of as { readonly procedure: string }
  return procedures.get(procedure)?.some(({ anonymousMayExecute }) => anonymousMayExecute) === true
}

function textOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}
