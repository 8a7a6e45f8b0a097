import { useApi } from '../../api/queries.ts'
import { choicesOf } from '../activity/filters.tsx'
import { listFunctions } from './api.ts'

/** Returns the choices of a filter by function. */
export function useFunctionNames(): Readonly<Record<string, string>> {
  const functions = useApi(['functions', 'list'], listFunctions)
  const names = functions.data?.items.map(({ name }) => name) ?? []
  return choicesOf('All functions', names.toSorted())
}
