import type { FastifyRequest } from 'fastify'
import { formType } from '../../../http/requests/body.ts'
import { formExpected, ProtocolError } from './protocol-error.ts'

/** Parameters of a form, each at most once (RFC 6749 §3.2); those that are lists by `all`. */
export interface Form {
  get(name: string): string | undefined
  /** @throws ProtocolError invalid_request */
  require(name: string): string
  all(name: string): readonly string[]
}

const lists = new Set(['allowed_tables', 'resource'])

/** @throws ProtocolError invalid_request */
export function readForm(request: FastifyRequest): Form {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== formType) throw formExpected()
  const { body } = request
  const parameters = body instanceof URLSearchParams ? body : new URLSearchParams()
  const seen = new Set<string>()
  for (const name of parameters.keys()) {
    if (!lists.has(name) && seen.has(name)) {
      throw new ProtocolError('invalid_request', `${name.slice(0, 100)} must not be repeated`)
    }
    seen.add(name)
  }
  const get = (name: string) => parameters.get(name) ?? undefined
  return {
    get,
    require(name) {
      const value = get(name)
      if (value === undefined || value === '')
        throw new ProtocolError('invalid_request', `${name} is required`)
      return value
    },
    all: (name) => parameters.getAll(name),
  }
}
