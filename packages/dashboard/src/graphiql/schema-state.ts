import type { Caller } from './send.ts'

/** State of the schema for the line above the editor. */
export interface SchemaState {
  readonly kind: 'loading' | 'loaded' | 'failed'
  readonly text: string
}

export const loadingSchema: SchemaState = { kind: 'loading', text: 'Loading the schema…' }

const callers: Readonly<Record<Caller, string>> = {
  token: 'Requests have the token under Headers.',
  administrator: 'Requests run as administrator. To run them as a user, set a token under Headers.',
  anonymous: 'Requests have no token. Sign in to the dashboard, or set a token under Headers.',
}

const withoutSchema: Readonly<Record<string, string>> = {
  introspection_disabled:
    'graphql.introspection is "disabled": there are no completions and no documentation. Documents can be run.',
  introspection_refused:
    'graphql.introspection is "admin": only administrators read the schema. Documents can be run.',
  document_not_allowed:
    'graphql.persisted is "only": the server refuses every document that is not listed, and the one that reads the schema.',
}

/** Describes the response to the introspection. */
export function describeSchema(response: unknown, caller: Caller): SchemaState {
  const { data, errors, message } = response as {
    readonly data?: unknown
    readonly errors?: readonly {
      readonly message: string
      readonly extensions?: { readonly code?: string }
    }[]
    readonly message?: string
  }
  if (data != null) return { kind: 'loaded', text: callers[caller] }
  const [error] = errors ?? []
  const known = withoutSchema[error?.extensions?.code ?? '']
  const reason = error?.message ?? message ?? 'The response has no data.'
  return {
    kind: 'failed',
    text: known ?? `The schema cannot be loaded: ${reason.replace(/\.$/, '')}. ${callers[caller]}`,
  }
}

/** Describes an introspection without a response. */
export function describeFailure(error: unknown): SchemaState {
  const reason = error instanceof Error ? error.message : String(error)
  return { kind: 'failed', text: `The schema cannot be loaded: ${reason}` }
}
