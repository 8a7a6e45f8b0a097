import { formatInstant } from './format.ts'

/** An instant in the browser's zone; with its exact text as a title. */
export function Time({ value }: { readonly value: string | null | undefined }) {
  if (value === null || value === undefined) return <>–</>
  return (
    <time dateTime={value} title={value}>
      {formatInstant(value)}
    </time>
  )
}
