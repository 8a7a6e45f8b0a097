import { useState } from 'react'
import { Select, TextField } from './field.tsx'
import styles from './layout.module.css'

/** Starts of ranges that move with the time, by their names in the URL. */
const starts: Readonly<Record<string, { readonly label: string; readonly start: () => number }>> = {
  '15m': { label: 'Last 15 minutes', start: () => Date.now() - 15 * 60_000 },
  '1h': { label: 'Last hour', start: () => Date.now() - 3_600_000 },
  today: { label: 'Today', start: () => new Date().setHours(0, 0, 0, 0) },
  '7d': { label: 'Last 7 days', start: () => Date.now() - 7 * 24 * 3_600_000 },
}

interface TimeRangeProps {
  /** Start: an instant, or the name of a range that moves with the time. */
  readonly from: string | undefined
  readonly to: string | undefined
  readonly onChange: (from: string | undefined, to: string | undefined) => void
}

/** Renders the time range of a log: a choice of usual ranges, or two fields. */
export function TimeRange({ from, to, onChange }: TimeRangeProps) {
  const [isCustom, setCustom] = useState(false)
  const isFixed = isCustom || to !== undefined || (from !== undefined && starts[from] === undefined)
  return (
    <>
      <Select
        label="Time"
        hidesLabel
        value={isFixed ? 'custom' : (from ?? '')}
        choices={[
          { value: '', label: 'Any time' },
          ...Object.entries(starts).map(([value, { label }]) => ({ value, label })),
          { value: 'custom', label: 'Custom range' },
        ]}
        onChange={(value) => {
          setCustom(value === 'custom')
          if (value === 'custom') onChange(toInstant(from), to)
          else onChange(value === '' ? undefined : value, undefined)
        }}
      />
      {isFixed && (
        <>
          <Moment label="From" value={from} onChange={(next) => onChange(next, to)} />
          <Moment label="To" value={to} onChange={(next) => onChange(from, next)} />
        </>
      )}
    </>
  )
}

interface MomentProps {
  readonly label: string
  readonly value: string | undefined
  readonly onChange: (instant: string | undefined) => void
}

/** Renders a time in the time zone of the browser. */
function Moment({ label, value, onChange }: MomentProps) {
  return (
    <span className={styles.moment}>
      <span aria-hidden>{label}</span>
      <TextField
        label={label}
        type="datetime-local"
        hidesLabel
        value={value === undefined ? '' : toLocal(value)}
        onChange={(local) => onChange(toInstant(local))}
      />
    </span>
  )
}

/** Returns the instant of an input field or of a moving range; undefined for another text. */
export function toInstant(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined
  const time = new Date(starts[text]?.start() ?? text)
  return Number.isNaN(time.valueOf()) ? undefined : time.toISOString()
}

/** Returns a filter with instants, as the API expects them. */
export const withInstants = <Filter extends object>(filter: Filter): Filter =>
  // Only texts change.
  Object.fromEntries(
    Object.entries(filter).map(([name, value]) => [
      name,
      (name === 'from' || name === 'since') && starts[value] !== undefined ? toInstant(value) : value,
    ]),
  ) as Filter

/** Formats a time for an input field, in the time zone of the browser. */
function toLocal(instant: string): string {
  const time = new Date(instant)
  if (Number.isNaN(time.valueOf())) return ''
  return new Date(time.valueOf() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
