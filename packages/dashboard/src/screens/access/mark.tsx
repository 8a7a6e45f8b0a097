import styles from './access.module.css'
import type { Verdict } from './api.ts'

const symbols = { true: '✓', false: '✗', null: '∅', error: '!', undefined: '–' } as const

interface MarkProps {
  readonly value: Verdict['value'] | undefined
  /** Word beside the symbol; the value itself unless set. */
  readonly label?: string
}

/** Renders a value as a symbol and a word. The colour only repeats it. */
export function Mark({ value, label = value === undefined ? 'not evaluated' : String(value) }: MarkProps) {
  const name = String(value) as keyof typeof symbols
  return (
    <span className={styles.mark} data-value={name}>
      <span aria-hidden="true">{symbols[name]}</span> {label}
    </span>
  )
}
