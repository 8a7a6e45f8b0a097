import { type ApiResponse, type Body, get, type Item, post, put, remove, segment } from '../../api/request.ts'

export type Site = ApiResponse<'sites.list'>['sites'][number]
export type Deploy = ApiResponse<'sites.listDeploys'>['deploys'][number]
export type Domain = Item<'domains.list'>

interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | undefined
}

const perPage = 50

/** Returns a page of a list. @param total number of items on all pages */
function pageOf<T>(items: readonly T[], total: number, page: number): Page<T> {
  return { items, next: page * perPage < total ? String(page + 1) : undefined }
}

export async function listSites(cursor: string | undefined, signal: AbortSignal): Promise<Page<Site>> {
  const page = Number(cursor ?? 1)
  const answer = await get<'sites.list'>('admin/sites', { page, perPage }, { signal })
  return pageOf(answer.sites, answer.totalCount, page)
}

const sitePath = (id: string) => `admin/sites/${segment(id)}` as const

export const readSite = (id: string, signal: AbortSignal) => get<'sites.get'>(sitePath(id), {}, { signal })

export const createSite = (input: Body<'sites.create'>) => post<'sites.create'>('admin/sites', input)

export const changeSite = ({ id, ...changes }: Body<'sites.update'> & { readonly id: string }) =>
  put<'sites.update'>(sitePath(id), changes)

export const deleteSite = (id: string) => remove<'sites.delete'>(sitePath(id))

export async function listDeploys(
  siteId: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Page<Deploy>> {
  const page = Number(cursor ?? 1)
  const path = `${sitePath(siteId)}/deploys` as const
  const answer = await get<'sites.listDeploys'>(path, { page, perPage }, { signal })
  return pageOf(answer.deploys, answer.totalCount, page)
}

export const promoteDeploy = (input: { readonly siteId: string; readonly deployId: string }) =>
  post<'sites.promoteDeploy'>(`${sitePath(input.siteId)}/deploys/${segment(input.deployId)}/promote`)

export const rollBack = (siteId: string) => post<'sites.rollback'>(`${sitePath(siteId)}/deploys/rollback`)

const mostDomains = 100

export const listDomains = async (signal: AbortSignal) =>
  (await get<'domains.list'>('admin/domains', { perPage: mostDomains }, { signal })).items

export const createDomain = (input: Body<'domains.create'>) => post<'domains.create'>('admin/domains', input)

export const verifyDomain = (id: string) => post<'domains.verify'>(`admin/domains/${segment(id)}/verify`)

export const deleteDomain = (id: string) => remove<'domains.delete'>(`admin/domains/${segment(id)}`)
