import styles from './skip-link.module.css'

interface SkipLinkProps {
  /** Id of an element that can have the focus. */
  readonly to: string
  readonly children: string
}

/** Leads past what would take many keys; shown while it has the focus. */
export function SkipLink({ to, children }: SkipLinkProps) {
  return (
    <a className={styles.link} href={`#${to}`}>
      {children}
    </a>
  )
}
