import { Badge, type Tone } from '../../../ui/layout.tsx'
import type { Plan, Warning } from '../api.ts'
import styles from '../structure.module.css'

/** What the plan has found, the gravest first. */
export function WarningList({ plan }: { readonly plan: Plan }) {
  if (plan.warnings.length === 0) {
    return (
      <p role="status">
        Tried and undone: it blocks no requests, removes nothing and opens nothing to callers.
      </p>
    )
  }
  return (
    <ul className={styles.warnings} aria-label="Warnings">
      {plan.warnings.map(({ kind, message }) => (
        <li key={message}>
          <Badge tone={tones[kind]}>{kind}</Badge>
          <span>{message}</span>
        </li>
      ))}
    </ul>
  )
}

const tones: Readonly<Record<Warning['kind'], Tone>> = {
  open: 'danger',
  removes: 'danger',
  rewrites: 'danger',
  reads: 'warning',
  blocks: 'warning',
  access: 'accent',
  'not rehearsed': 'warning',
}
