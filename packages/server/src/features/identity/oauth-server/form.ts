import type { FastifyRequest } from 'fastify'
import { formType } from '../../../http/requests/body.ts'
import { component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { formExpected, ProtocolError } from './protocol-error.ts'

/** Credentials of a client in a form, unless it sends them by HTTP Basic (RFC 6749 §2.3.1). */
export const clientCredentials = {
  client_id: Type.Optional(Type.String()),
  client_secret: Type.Optional(Type.String()),
}

/** Options of a form whose parameters must not be repeated (RFC 6749 §3.2). */
export const eachOnce = { additionalProperties: Type.String() }

/** Form of the endpoints that accept a token of a client. */
export const OAuthTokenParameters = component(
  'OAuthTokenParameters',
  Type.Object(
    {
      token: Type.String({ minLength: 1 }),
      token_type_hint: Type.Optional(Type.String()),
      ...clientCredentials,
    },
    eachOnce,
  ),
)

/** Parameters of a form, each at most once (RFC 6749 §3.2). `all` reads lists. */
export interface Form {
  get(name: string): string | undefined
  /** Returns a required parameter. @throws ProtocolError invalid_request */
  require(name: string): string
  all(name: string): readonly string[]
}

const lists = new Set(['allowed_tables', 'resource'])

/** Reads a form. @throws ProtocolError invalid_request */
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
