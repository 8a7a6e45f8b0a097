import { useEffect, useState } from 'react'
import { useSearchParams } from 'wouter'
import { withParameters } from '../../shell/search-parameters.ts'

const settledMs = 300

/** Returns the filters of a view, which are stored in the URL. */
export function useFilters<const Name extends string>(names: readonly Name[]) {
  const [search, setSearch] = useSearchParams()
  // Each name has one value.
  const values = Object.fromEntries(names.map((name) => [name, search.get(name) || undefined])) as Record<
    Name,
    string | undefined
  >
  return {
    values,
    /** Debounced values, so that typing does not send a request for each letter. */
    settled: useDebounced(values),
    set(changed: Partial<Record<Name, string | undefined>>) {
      setSearch((before) => withParameters(before, changed), { replace: true })
    },
    isFiltered: names.some((name) => values[name] !== undefined),
    clear: () => setSearch({}, { replace: true }),
  }
}

function useDebounced<Values extends object>(values: Values): Values {
  const text = JSON.stringify(values)
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settledMs)
    return () => clearTimeout(timer)
  }, [text])
  return JSON.parse(settled) as Values
}
