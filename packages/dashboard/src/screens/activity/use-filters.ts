import { useEffect, useState } from 'react'
import { useSearchParams } from 'wouter'
import { withParameters } from '../../shell/search-parameters.ts'

const settledMs = 300

/** Filters of a view, which live in its address. */
export function useFilters<const Name extends string>(names: readonly Name[]) {
  const [search, setSearch] = useSearchParams()
  // Each name once.
  const values = Object.fromEntries(names.map((name) => [name, search.get(name) || undefined])) as Record<
    Name,
    string | undefined
  >
  return {
    values,
    /** As they were a moment ago, so that typing does not ask for every letter. */
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
