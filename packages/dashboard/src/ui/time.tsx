import { formatInstant } from './format.ts'

/** Renders a time in the browser's time zone, with the exact time as its title. */
export function Time({ value }: { readonly value: string | null | undefined }) {
  if (value === null || value === undefined) return <>–</>
  return (
    <time dateTime={value} title={value}>
      {formatInstant(value)}
    </time>
  )
}
