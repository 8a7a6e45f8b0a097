import { get, post, put, remove, segment } from '../../api/request.ts'

/** Of `GET /api/admin/sites`. */
export interface Site {
  readonly id: string
  readonly name: string
  readonly slug: string
  readonly spaMode: boolean
  readonly customDomainId?: string
  readonly createdAt: string
  readonly liveDeployId?: string
  readonly url?: string
}

/** Of `GET /api/admin/sites/{siteId}/deploys`. */
export interface Deploy {
  readonly id: string
  readonly status: 'uploading' | 'live' | 'superseded' | 'failed'
  readonly fileCount: number
  readonly totalBytes: number
  readonly errorMessage?: string
  readonly createdAt: string
}

/** Of `GET /api/admin/domains`. */
export interface Domain {
  readonly id: string
  readonly hostname: string
  readonly environment: string
  readonly redirectMode?: string
  readonly status: string
  readonly verification: { readonly type: string; readonly name: string; readonly value: string }
  readonly siteId?: string
  readonly lastError?: string
  readonly checkedAt?: string
}

interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | undefined
}

const perPage = 50

/** @param total of all pages */
function pageOf<T>(items: readonly T[], total: number, page: number): Page<T> {
  return { items, next: page * perPage < total ? String(page + 1) : undefined }
}

export async function listSites(cursor: string | undefined, signal: AbortSignal): Promise<Page<Site>> {
  const page = Number(cursor ?? 1)
  const answer = await get<{ sites: Site[]; totalCount: number }>(
    'admin/sites',
    { page, perPage },
    { signal },
  )
  return pageOf(answer.sites, answer.totalCount, page)
}

const sitePath = (id: string) => `admin/sites/${segment(id)}`

export const readSite = (id: string, signal: AbortSignal) => get<Site>(sitePath(id), {}, { signal })

export const createSite = (input: {
  readonly name: string
  readonly slug: string | undefined
  readonly spaMode: boolean
}) => post<Site>('admin/sites', input)

export const changeSite = ({
  id,
  ...changes
}: {
  readonly id: string
  readonly name?: string
  readonly spaMode?: boolean
  readonly customDomainId?: string
  readonly clearCustomDomain?: boolean
}) => put<Site>(sitePath(id), changes)

export const deleteSite = (id: string) => remove(sitePath(id))

export async function listDeploys(
  siteId: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Page<Deploy>> {
  const page = Number(cursor ?? 1)
  const path = `${sitePath(siteId)}/deploys`
  const answer = await get<{ deploys: Deploy[]; totalCount: number }>(path, { page, perPage }, { signal })
  return pageOf(answer.deploys, answer.totalCount, page)
}

export const promoteDeploy = (input: { readonly siteId: string; readonly deployId: string }) =>
  post<Deploy>(`${sitePath(input.siteId)}/deploys/${segment(input.deployId)}/promote`)

export const rollBack = (siteId: string) => post<Deploy>(`${sitePath(siteId)}/deploys/rollback`)

const mostDomains = 100

export const listDomains = async (signal: AbortSignal) =>
  (await get<{ items: Domain[] }>('admin/domains', { perPage: mostDomains }, { signal })).items

export const createDomain = (input: {
  readonly hostname: string
  readonly environment: string | undefined
  readonly redirectMode: string | undefined
}) => post<Domain>('admin/domains', input)

export const verifyDomain = (id: string) => post<Domain>(`admin/domains/${segment(id)}/verify`)

export const deleteDomain = (id: string) => remove(`admin/domains/${segment(id)}`)
