import styles from './skip-link.module.css'

interface SkipLinkProps {
  /** Id of a focusable element. */
  readonly to: string
  readonly children: string
}

/** Renders a link that skips long navigation. It is visible while it has the focus. */
export function SkipLink({ to, children }: SkipLinkProps) {
  return (
    <a className={styles.link} href={`#${to}`}>
      {children}
    </a>
  )
}
