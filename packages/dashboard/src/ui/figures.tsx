import type { ReactNode } from 'react'
import { Link } from 'wouter'
import styles from './figures.module.css'

/** Renders numbers side by side, each in a `Figure`. */
export function Figures({ children }: { readonly children: ReactNode }) {
  return <dl className={styles.figures}>{children}</dl>
}

interface FigureProps {
  readonly name: string
  readonly value: string
  /** Path of the screen that explains the number. */
  readonly href?: string
  readonly isBad?: boolean
  /** Note below the number. */
  readonly children?: ReactNode
}

export function Figure({ name, value, href, isBad = false, children }: FigureProps) {
  return (
    <div data-bad={isBad}>
      <dt>{href === undefined ? name : <Link href={href}>{name}</Link>}</dt>
      <dd>{value}</dd>
      {children !== undefined && <dd className={styles.note}>{children}</dd>}
    </div>
  )
}
