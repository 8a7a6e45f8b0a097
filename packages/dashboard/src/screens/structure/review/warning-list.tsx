import { Badge, type Tone } from '../../../ui/layout.tsx'
import type { Plan, Warning } from '../api.ts'
import styles from '../structure.module.css'

/** Lists the warnings of the plan, the most severe first. */
export function WarningList({ plan }: { readonly plan: Plan }) {
  if (plan.warnings.length === 0) {
    return (
      <p role="status">
        Tested and rolled back: the change blocks no requests, removes nothing and gives callers no further
        access.
      </p>
    )
  }
  return (
    <ul className={styles.warnings} aria-label="Warnings">
      {plan.warnings.map(({ kind, message }) => (
        <li key={message}>
          <Badge tone={signs[kind].tone}>{signs[kind].label}</Badge>
          <span>{message}</span>
        </li>
      ))}
    </ul>
  )
}

interface Sign {
  readonly label: string
  readonly tone: Tone
}

const signs: Readonly<Record<Warning['kind'], Sign>> = {
  open: { label: 'open', tone: 'danger' },
  removes: { label: 'loss', tone: 'danger' },
  renames: { label: 'renamed', tone: 'warning' },
  rewrites: { label: 'rewrite', tone: 'danger' },
  reads: { label: 'lock', tone: 'warning' },
  blocks: { label: 'lock', tone: 'warning' },
  access: { label: 'access', tone: 'accent' },
  'not rehearsed': { label: 'unknown', tone: 'warning' },
}
