import { STATUS_CODES } from 'node:http'
import type { DocumentedVariant } from '../schemas.ts'

/** Operation of an OpenAPI document, as far as it is read here. */
interface DocumentedOperation {
  readonly [member: string]: unknown
  readonly operationId?: string
  readonly responses?: { readonly default?: unknown }
}

type Path = Record<string, DocumentedOperation>

/** Replaces an operation that serves several by one operation each, at a path with their last segment. */
export function splitVariants(
  paths: object,
  variants: ReadonlyMap<string, readonly DocumentedVariant[]>,
): void {
  const documented = paths as Record<string, Path>
  for (const [path, methods] of Object.entries(documented)) {
    for (const [method, operation] of Object.entries(methods)) {
      const own = variants.get(operation.operationId ?? '')
      if (own === undefined) continue
      delete methods[method]
      for (const variant of own) {
        documented[`${path}/${variant.segment}`] = { [method]: describeVariant(operation, variant) }
      }
    }
  }
}

function describeVariant(operation: DocumentedOperation, variant: DocumentedVariant): DocumentedOperation {
  const { operationId, summary, description, body, responses } = variant
  const successes = Object.entries(responses).map(([status, schema]) => [
    status,
    { description: STATUS_CODES[status], content: { 'application/json': { schema } } },
  ])
  const { description: _, requestBody: __, ...common } = operation
  return {
    ...common,
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(body === undefined ? {} : { requestBody: { content: { 'application/json': { schema: body } } } }),
    responses: { ...Object.fromEntries(successes), default: operation.responses?.default },
  }
}
