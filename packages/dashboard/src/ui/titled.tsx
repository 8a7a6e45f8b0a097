import type { ReactNode, Ref } from 'react'
import { Button } from './button.tsx'
import styles from './titled.module.css'

interface TitledProps {
  /** Of the heading, which labels what it stands in. */
  readonly id: string
  readonly title: ReactNode
  readonly headingRef?: Ref<HTMLHeadingElement>
  readonly closeLabel: string
  /** Undefined where it cannot be dismissed. */
  readonly onClose: (() => void) | undefined
  readonly footer: ReactNode
  readonly children: ReactNode
}

/** The heading with its button to close, what is below it, and the buttons at the end: of dialogs and side panels. */
export function Titled({ id, title, headingRef, closeLabel, onClose, footer, children }: TitledProps) {
  return (
    <>
      <header className={styles.header}>
        <h2 id={id} ref={headingRef} {...(headingRef === undefined ? {} : { tabIndex: -1 })}>
          {title}
        </h2>
        {onClose !== undefined && (
          <Button look="plain" size="small" aria-label={closeLabel} onClick={onClose}>
            ×
          </Button>
        )}
      </header>
      {children}
      {footer !== undefined && <footer className={styles.footer}>{footer}</footer>}
    </>
  )
}
