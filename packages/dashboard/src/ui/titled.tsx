import type { ReactNode, Ref } from 'react'
import { Button } from './button.tsx'
import styles from './titled.module.css'

interface TitledProps {
  /** Id of the heading, which labels the container. */
  readonly id: string
  readonly title: ReactNode
  readonly headingRef?: Ref<HTMLHeadingElement>
  readonly closeLabel: string
  /** Called to close. Undefined if the container cannot be dismissed. */
  readonly onClose: (() => void) | undefined
  readonly footer: ReactNode
  readonly children: ReactNode
}

/** Renders the heading with a close button, the content and the footer buttons of a dialog or side panel. */
export function Titled({ id, title, headingRef, closeLabel, onClose, footer, children }: TitledProps) {
  return (
    <>
      <header className={styles.header}>
        <h2 id={id} ref={headingRef} {...(headingRef === undefined ? {} : { tabIndex: -1 })}>
          {title}
        </h2>
        {onClose !== undefined && (
          <Button variant="plain" size="small" aria-label={closeLabel} onClick={onClose}>
            ×
          </Button>
        )}
      </header>
      {children}
      {footer !== undefined && <footer className={styles.footer}>{footer}</footer>}
    </>
  )
}
