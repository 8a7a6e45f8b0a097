import { queryClient } from './queries.ts'

/** Name of a user or a row, or null if it has none or does not exist. */
export type Name = string | null

/** Time for which a name is used before it is read again, in milliseconds. */
export const freshMs = 60_000

/**
 * Reads the names that are not stored, and stores them. A further page of rows reads only the names that it adds.
 *
 * @param keyOf returns the query key under which a name is stored
 */
export async function readMissing(
  ids: readonly string[],
  keyOf: (id: string) => readonly unknown[],
  read: (missing: readonly string[]) => Promise<ReadonlyMap<string, Name>>,
): Promise<ReadonlyMap<string, Name>> {
  const names = new Map<string, Name>()
  for (const id of ids) {
    const state = queryClient.getQueryState<Name>(keyOf(id))
    if (state?.data === undefined || state.isInvalidated || state.dataUpdatedAt < Date.now() - freshMs)
      continue
    names.set(id, state.data)
  }
  const missing = ids.filter((id) => !names.has(id))
  if (missing.length === 0) return names
  const found = await read(missing)
  for (const id of missing) {
    const name = found.get(id) ?? null
    queryClient.setQueryData(keyOf(id), name)
    names.set(id, name)
  }
  return names
}
