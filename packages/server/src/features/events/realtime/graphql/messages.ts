import { isObject, type JsonObject, parseJson } from '../../../../lib/json.ts'
import { nestsDeeperThan, sliceObject } from '../../../../lib/json-slices.ts'

/** Messages of GraphQL clients (GraphQL over WebSocket Protocol). */

/** Subprotocol of the WebSocket. */
export const graphqlProtocol = 'graphql-transport-ws'

export type ClientMessage =
  | { readonly type: 'connection_init'; readonly payload: JsonObject }
  | { readonly type: 'ping' | 'pong'; readonly payload: JsonObject | undefined }
  /** Operation with its payload as JSON text, so that no digit is lost. */
  | { readonly type: 'subscribe'; readonly id: string; readonly payload: string }
  | { readonly type: 'complete'; readonly id: string }
  | { readonly type: 'invalid'; readonly problem: string }

/** Maximum nesting of a message, which holds a document and its variables. */
const nestingLimit = 100
/** Maximum characters of an id. Each message to the client repeats it. */
const idLimit = 200

export function parseClientMessage(text: string): ClientMessage {
  if (nestsDeeperThan(nestingLimit, text)) return invalid('nested too deeply')
  const message = parseJson(text)
  if (!isObject(message)) return invalid('expected a JSON object')
  const { type, id, payload } = message
  switch (type) {
    case 'connection_init':
      return isAbsent(payload)
        ? { type, payload: {} }
        : isObject(payload)
          ? { type, payload }
          : invalid('payload: expected an object')
    case 'ping':
    case 'pong':
      return isAbsent(payload)
        ? { type, payload: undefined }
        : isObject(payload)
          ? { type, payload }
          : invalid('payload: expected an object')
    case 'subscribe': {
      if (!isId(id)) return invalid(idProblem)
      const problem = findPayloadProblem(payload)
      return problem === undefined
        ? { type, id, payload: sliceObject(text).get('payload') ?? '{}' }
        : invalid(problem)
    }
    case 'complete':
      return isId(id) ? { type, id } : invalid(idProblem)
    default:
      return invalid(typeof type === 'string' ? `unknown type: ${type}` : 'type: expected a string')
  }
}

const idProblem = `id: expected a string of 1 to ${idLimit} characters`

/** Returns the fault in the form of a request. Faults in its content are errors of the operation. */
function findPayloadProblem(payload: unknown): string | undefined {
  if (!isObject(payload)) return 'payload: expected an object'
  const { query, operationName, variables, extensions } = payload
  const isPersisted = !isAbsent(payload.documentId) || !isAbsent(extensions)
  if (typeof query !== 'string' && !(isAbsent(query) && isPersisted)) return 'query: expected a string'
  if (!isAbsent(operationName) && typeof operationName !== 'string') {
    return 'operationName: expected a string'
  }
  if (!isAbsent(variables) && !isObject(variables)) return 'variables: expected an object'
  return isAbsent(extensions) || isObject(extensions) ? undefined : 'extensions: expected an object'
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= idLimit
}

function invalid(problem: string): ClientMessage {
  return { type: 'invalid', problem }
}

/** Returns the message of a result. @param payload JSON text */
export function formatNextMessage(id: string, payload: string): string {
  return `{"id":${JSON.stringify(id)},"type":"next","payload":${payload}}`
}
