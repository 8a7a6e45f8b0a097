import { get, post } from '../../api/request.ts'

/** Through whose eyes to look, as the body of the requests has it. */
export interface As {
  readonly kind: 'user' | 'key' | 'client' | 'anonymous' | 'claims'
  readonly id?: string
  readonly email?: string
  readonly aal?: 'aal1' | 'aal2'
  readonly clientId?: string
  readonly userId?: string
  readonly emailVerified?: boolean
  readonly isAnonymous?: boolean
}

export type Action = 'select' | 'insert' | 'update' | 'delete'

export interface ExplainRequest {
  readonly as: As
  readonly table: string
  readonly action: Action
  readonly ids?: readonly string[]
  readonly filter?: string
  readonly values?: unknown
  readonly plan?: 'none' | 'plan' | 'analyze'
}

export interface Verdict {
  readonly value: boolean | null | 'error'
  readonly message?: string
  readonly sqlState?: string
}

export interface ExplainedRow {
  readonly id?: string
  readonly shown: Readonly<Record<string, string | null>>
  readonly stages: readonly {
    readonly outcome?: boolean | 'error'
    readonly verdicts: readonly Verdict[]
  }[]
  readonly allowed?: boolean | 'error'
  readonly actual?: boolean
  readonly answer?: { readonly status: number; readonly message?: string }
  readonly agrees?: boolean
  readonly sentence: string
}

export interface Gate {
  readonly name: string
  readonly verdict: 'passes' | 'stops'
  readonly sentence: string
}

export interface Stage {
  readonly name: string
  readonly command: string
  readonly clause: 'using' | 'check'
  readonly row: 'before' | 'after'
}

export interface ExplainedPolicy {
  readonly name: string
  readonly command: string
  readonly permissive: boolean
  readonly roles: readonly string[]
  readonly using: string | null
  readonly check: string | null
  readonly isForCaller: boolean
  readonly stages: readonly { readonly stage: number; readonly place: number }[]
}

export interface Plan {
  readonly plan?: unknown
  readonly error?: { readonly message: string; readonly sqlState: string }
}

/** Of `POST /api/admin/access/explain`. */
export interface Explanation {
  readonly caller: {
    readonly label: string
    readonly role: string
    readonly settings: Readonly<Record<string, string>>
    readonly grant: { readonly mayWrite: boolean; readonly tables: readonly string[] | null } | null
  }
  readonly table: {
    readonly collection: string
    readonly schema: string
    readonly name: string
    readonly rlsEnabled: boolean
    readonly kind: string
  }
  readonly action: Action
  readonly gates: readonly Gate[]
  readonly stages: readonly Stage[]
  readonly policies: readonly ExplainedPolicy[]
  readonly reads: readonly { readonly policy: string; readonly name: string; readonly sentence: string }[]
  readonly rows: readonly ExplainedRow[]
  readonly isCut: boolean
  readonly answer: string
  readonly statement?: {
    readonly text?: string
    readonly values?: readonly (string | null)[]
    readonly outcome: { readonly status: number; readonly message?: string }
  }
  readonly plans?: { readonly withPolicies: Plan; readonly withoutPolicies: Plan }
  readonly psql: string
  readonly remains: readonly string[]
}

/** Of `POST /api/admin/access/parts`. */
export interface Part extends Verdict {
  readonly text: string
  readonly operator?: 'and' | 'or' | 'not'
  readonly terms: readonly Part[]
  readonly sides: readonly {
    readonly expression: string
    readonly text?: string | null
    readonly message?: string
  }[]
}

/** Of `POST /api/admin/access/compare`. */
export interface Comparison {
  readonly rows: number
  readonly callers: readonly {
    readonly label: string
    readonly stopped?: string
    readonly shown: readonly (string | null)[]
    readonly hidden: readonly (string | null)[]
    readonly kept: number
    readonly absent: number
    readonly errors: readonly string[]
  }[]
}

/** Of `POST /api/admin/access/cases`. */
export interface SavedCase {
  readonly name: string
  readonly content: string
  readonly path: string | null
}

const path = 'admin/access'

export const explain = (request: ExplainRequest, signal: AbortSignal) =>
  post<Explanation>(`${path}/explain`, request, { signal })

export const takeApart = (
  request: ExplainRequest & { readonly policy: string; readonly stage: number },
  signal: AbortSignal,
) => post<Part>(`${path}/parts`, request, { signal })

export interface PolicyEdit {
  readonly name: string
  readonly using?: string
  readonly check?: string
  readonly roles?: readonly string[]
  readonly command?: string
  readonly permissive?: boolean
  readonly drop?: boolean
}

export const compare = (request: {
  readonly table: string
  readonly action: Action
  readonly filter?: string
  readonly ids?: readonly string[]
  readonly as?: readonly As[]
  readonly policy: PolicyEdit
}) => post<Comparison>(`${path}/compare`, request)

export const saveCase = (
  request: ExplainRequest & {
    readonly name: string
    readonly expect: 'present' | 'allowed' | 'refused'
    readonly save: boolean
  },
) => post<SavedCase>(`${path}/cases`, request)

export const findUsers = (search: string, signal: AbortSignal) =>
  get<{ items: { id: string; email: string }[] }>('admin/users', { search, perPage: 20 }, { signal })

export const listKeys = (signal: AbortSignal) =>
  get<{ items: { id: string; name: string; keyPrefix: string; revokedAt?: string | null }[] }>(
    'admin/api-keys',
    { perPage: 100 },
    { signal },
  )

export const listClients = (signal: AbortSignal) =>
  get<{ items: { clientId: string; name: string }[] }>('admin/oauth/clients', { perPage: 100 }, { signal })

/** The first ones that the text finds. */
export const listTables = (search: string, signal: AbortSignal) =>
  get<{ items: { collection: string }[] }>('admin/tables', { search, limit: 50 }, { signal })
