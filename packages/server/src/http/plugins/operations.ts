import { STATUS_CODES } from 'node:http'
import { type TSchema, Type } from '../../lib/type.ts'
import { bodyOf, type DocumentedBody, type DocumentedVariant } from '../schemas.ts'

/** Members of a route's schema in addition to those of the swagger plugin. */
export interface OperationSchema {
  readonly body?: unknown
  readonly documentedBody?: DocumentedBody
  readonly documentedAs?: readonly DocumentedVariant[]
}

/** Operation of an OpenAPI document, with the members that are completed here. */
interface DocumentedOperation {
  readonly [member: string]: unknown
  readonly operationId?: string
  requestBody?: { required?: boolean; content?: object } | undefined
  security?: readonly object[]
  responses: Readonly<Record<string, { description?: string; $ref?: string }>>
}

/** Operations by method. */
type Path = Record<string, DocumentedOperation>

/**
 * Completes the document where the swagger plugin leaves gaps. It marks optional bodies, adds bodies that a
 * route itself reads, and separates operations on one route. Operations without a token get no security, and
 * client errors have the envelope, too (some tools read `4XX` and not `default`).
 *
 * @param schemas by operation
 */
export function completeOperations(paths: object, schemas: ReadonlyMap<string, OperationSchema>): void {
  const documented = paths as Record<string, Path>
  for (const [path, methods] of Object.entries(documented)) {
    for (const [method, operation] of Object.entries(methods)) {
      const schema = schemas.get(operation.operationId ?? '') ?? {}
      completeOperation(operation, schema)
      if (schema.documentedAs === undefined) continue
      delete methods[method]
      for (const variant of schema.documentedAs) {
        documented[`${path}/${variant.segment}`] = { [method]: describeVariant(operation, variant) }
      }
    }
  }
}

function completeOperation(operation: DocumentedOperation, { body, documentedBody }: OperationSchema): void {
  // It is a schema of TypeBox, as all of them are.
  const isOptional = body !== undefined && Type.IsOptional(body as TSchema)
  if (operation.requestBody !== undefined && isOptional) operation.requestBody.required = false
  if (documentedBody !== undefined) operation.requestBody = documentedBody
  operation.security ??= []
  const { default: refused, ...successes } = operation.responses
  for (const [status, response] of Object.entries(successes)) {
    if (response.description === 'Default Response') response.description = STATUS_CODES[status] ?? 'Response'
  }
  operation.responses = {
    ...successes,
    '4XX': refused ?? { $ref: '#/components/responses/Error' },
    ...(refused === undefined ? {} : { default: refused }),
  }
}

/** Returns the operation for one action of a shared route. */
function describeVariant(operation: DocumentedOperation, variant: DocumentedVariant): DocumentedOperation {
  const { operationId, summary, description, body, responses } = variant
  const { description: _, requestBody: __, ...common } = operation
  const { '4XX': clientError = {}, default: otherError = {} } = operation.responses
  const successes = Object.entries(responses).map(
    ([status, schema]) =>
      [
        status,
        { description: STATUS_CODES[status] ?? '', content: { 'application/json': { schema } } },
      ] as const,
  )
  return {
    ...common,
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(body === undefined ? {} : { requestBody: bodyOf('application/json', body, 'required' in body) }),
    responses: { ...Object.fromEntries(successes), '4XX': clientError, default: otherError },
  }
}
