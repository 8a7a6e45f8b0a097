import { useQuery } from '@tanstack/react-query'
import { freshMs, type Name, readMissing } from './names.ts'
import { inSession, queryClient, useApi } from './queries.ts'
import { get } from './request.ts'

/** Maximum number of ids in one request. */
const mostIds = 100

const keyOf = (id: string) => ['users', 'name', id] as const

interface Request {
  readonly ids: Set<string>
  readonly names: Promise<ReadonlyMap<string, Name>>
}

/** Request that waits for the ids of other components of the same rendering. */
let next: Request | undefined

/** Returns the name of a user, or undefined while it is read. Components of one page share a request. */
export function useUserName(id: string): Name | undefined {
  const { data } = useQuery({
    queryKey: keyOf(id),
    queryFn: () => inSession(async () => (await requestNames([id])).get(id) ?? null),
    staleTime: freshMs,
  })
  return data
}

/** Returns the names of users that are known so far, by id. */
export function useUserNames(ids: readonly string[], isOn: boolean): ReadonlyMap<string, Name> {
  const { data } = useApi(['users', 'names', ids], () => readNames(ids), { enabled: isOn && ids.length > 0 })
  return isOn && data !== undefined ? data : noNames
}

const noNames: ReadonlyMap<string, Name> = new Map()

/** Stores a name that another response had. */
export function rememberUserName(id: string, name: Name): void {
  queryClient.setQueryData(keyOf(id), name)
}

const readNames = (ids: readonly string[]) => readMissing(ids, keyOf, requestNames)

function requestNames(ids: readonly string[]): Promise<ReadonlyMap<string, Name>> {
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

async function fetchNames(ids: readonly string[]): Promise<ReadonlyMap<string, Name>> {
  const names = new Map<string, Name>()
  for (let index = 0; index < ids.length; index += mostIds) {
    const { items } = await get<'users.names'>('admin/users/names', {
      ids: ids.slice(index, index + mostIds).join(),
    })
    for (const { id, name } of items) names.set(id, name)
  }
  return names
}
