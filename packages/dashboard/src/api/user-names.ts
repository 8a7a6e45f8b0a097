import { useQuery } from '@tanstack/react-query'
import { inSession, queryClient, useApi } from './queries.ts'
import { get } from './request.ts'

/** Maximum number of ids in one request. */
const mostIds = 100

/** Time for which a name is used before it is read again, in milliseconds. */
const freshMs = 60_000

/** Name of a user, or null for a user without one and for an unknown id. */
export type UserName = string | null

const keyOf = (id: string) => ['users', 'name', id] as const

interface Request {
  readonly ids: Set<string>
  readonly names: Promise<ReadonlyMap<string, UserName>>
}

/** Request that waits for the ids of other components of the same rendering. */
let next: Request | undefined

/** Returns the name of a user, or undefined while it is read. Components of one page share a request. */
export function useUserName(id: string): UserName | undefined {
  const { data } = useQuery({
    queryKey: keyOf(id),
    queryFn: () => inSession(async () => (await requestNames([id])).get(id) ?? null),
    staleTime: freshMs,
  })
  return data
}

/** Returns the names of users that are known so far, by id. */
export function useUserNames(ids: readonly string[], isOn: boolean): ReadonlyMap<string, UserName> {
  const { data } = useApi(['users', 'names', ids], () => readNames(ids), { enabled: isOn && ids.length > 0 })
  return isOn && data !== undefined ? data : noNames
}

const noNames: ReadonlyMap<string, UserName> = new Map()

/** Stores a name that another response had. */
export function rememberUserName(id: string, name: UserName): void {
  queryClient.setQueryData(keyOf(id), name)
}

/** Reads the names that are not stored. */
async function readNames(ids: readonly string[]): Promise<ReadonlyMap<string, UserName>> {
  const stored = new Map<string, UserName>()
  for (const id of ids) {
    const { data, dataUpdatedAt } = queryClient.getQueryState<UserName>(keyOf(id)) ?? {}
    if (data !== undefined && (dataUpdatedAt ?? 0) > Date.now() - freshMs) stored.set(id, data)
  }
  const missing = ids.filter((id) => !stored.has(id))
  if (missing.length === 0) return stored
  const read = await requestNames(missing)
  for (const id of missing) rememberUserName(id, read.get(id) ?? null)
  return new Map([...stored, ...read])
}

function requestNames(ids: readonly string[]): Promise<ReadonlyMap<string, UserName>> {
  if (next === undefined) {
    const together = new Set<string>()
    const names = new Promise<void>((resolve) => setTimeout(resolve)).then(() => {
      next = undefined
      return fetchNames([...together])
    })
    next = { ids: together, names }
  }
  for (const id of ids) next.ids.add(id)
  return next.names
}

async function fetchNames(ids: readonly string[]): Promise<ReadonlyMap<string, UserName>> {
  const names = new Map<string, UserName>()
  for (let index = 0; index < ids.length; index += mostIds) {
    const { items } = await get<'users.names'>('admin/users/names', {
      ids: ids.slice(index, index + mostIds).join(),
    })
    for (const { id, name } of items) names.set(id, name)
  }
  return names
}
