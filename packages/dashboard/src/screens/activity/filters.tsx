import type { ReactNode } from 'react'
import { Button } from '../../ui/button.tsx'
import { Select } from '../../ui/field.tsx'
import { FilterField, Toolbar } from '../../ui/layout.tsx'
import { TimeRange } from '../../ui/time-range.tsx'
import type { useFilters } from './use-filters.ts'

/** Filter of a list: a text, or a choice among values. */
interface Filter<Name extends string> {
  readonly name: Name
  readonly label: string
  readonly placeholder?: string
  /** Values with their labels; the empty value is no filter. */
  readonly choices?: Readonly<Record<string, string>>
}

interface FiltersProps<Name extends string> {
  /** Label for screen readers. */
  readonly label: string
  readonly filters: Pick<ReturnType<typeof useFilters<Name>>, 'values' | 'set' | 'isFiltered' | 'clear'>
  readonly fields: readonly Filter<Name>[]
  /** Names of the start and the end of the time range. */
  readonly range?: readonly [Name, Name]
  readonly children?: ReactNode
}

/** Renders the filters of a list, which the URL stores. */
export function Filters<Name extends string>({
  label,
  filters,
  fields,
  range,
  children,
}: FiltersProps<Name>) {
  const { values, set, isFiltered, clear } = filters
  const change = (name: Name, value: string | undefined) => ({ [name]: value }) as Record<Name, typeof value>
  return (
    <Toolbar label={label}>
      {fields.map(({ name, choices, ...field }) => {
        const common = {
          ...field,
          value: values[name] ?? '',
          onChange: (next: string) => set(change(name, next)),
        }
        if (choices === undefined) return <FilterField key={name} {...common} />
        // A link may name another value.
        const all = { ...choices, ...(common.value in choices ? {} : { [common.value]: common.value }) }
        const options = Object.entries(all).map(([value, text]) => ({ value, label: text }))
        return <Select key={name} {...common} hidesLabel choices={options} />
      })}
      {range !== undefined && (
        <TimeRange
          from={values[range[0]]}
          to={values[range[1]]}
          onChange={(from, to) => set({ ...change(range[0], from), ...change(range[1], to) })}
        />
      )}
      {children}
      {isFiltered && <Button onClick={clear}>Clear</Button>}
    </Toolbar>
  )
}

/** Returns choices whose labels are their values. */
export const choicesOf = (all: string, values: readonly string[]): Readonly<Record<string, string>> => ({
  '': all,
  ...Object.fromEntries(values.map((value) => [value, value])),
})
