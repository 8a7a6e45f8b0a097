import { type ApiResponse, type Body, get, post } from '../../api/request.ts'

/** Caller of the request, as in the request bodies. */
export type As = ExplainRequest['as']
export type Action = Explanation['action']
export type Verdict = ExplainedRow['stages'][number]['verdicts'][number]
export type ExplainRequest = Body<'access.explain'>
export type ExplainedRow = Explanation['rows'][number]
export type ExplainedPolicy = Explanation['policies'][number]
export type Plan = NonNullable<Explanation['plans']>['withPolicies']
export type Explanation = ApiResponse<'access.explain'>
export type Part = Omit<ApiResponse<'access.takeApart'>, 'terms'> & { readonly terms: readonly Part[] }
export type Comparison = ApiResponse<'access.compare'>
export type SavedCase = ApiResponse<'access.saveCase'>

const path = 'admin/access'

export const explain = (request: ExplainRequest, signal: AbortSignal) =>
  post<'access.explain'>(`${path}/explain`, request, { signal })

export const takeApart = (
  request: ExplainRequest & { readonly policy: string; readonly stage: number },
  signal: AbortSignal,
) => post<'access.takeApart'>(`${path}/parts`, request, { signal }) as Promise<Part>

export type PolicyEdit = Body<'access.compare'>['policy']

export const compare = (request: {
  readonly table: string
  readonly action: Action
  readonly filter?: string
  readonly ids?: readonly string[]
  readonly as?: readonly As[]
  readonly policy: PolicyEdit
}) => post<'access.compare'>(`${path}/compare`, request)

export const saveCase = (
  request: ExplainRequest & {
    readonly name: string
    readonly expect: 'present' | 'allowed' | 'refused'
    readonly save: boolean
  },
) => post<'access.saveCase'>(`${path}/cases`, request)

export const findUsers = (search: string, signal: AbortSignal) =>
  get<'users.list'>('admin/users', { search, perPage: 20 }, { signal })

export const listKeys = (signal: AbortSignal) =>
  get<'apiKeys.list'>('admin/api-keys', { perPage: 100 }, { signal })

export const listClients = (signal: AbortSignal) =>
  get<'oauthClients.list'>('admin/oauth/clients', { perPage: 100 }, { signal })

/** Lists the first tables that match the text. */
export const listTables = (search: string, signal: AbortSignal) =>
  get<'overview.tables'>('admin/tables', { search, limit: 50 }, { signal })
