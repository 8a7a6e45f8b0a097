import { type ReactNode, useEffect, useId, useRef } from 'react'
import styles from './side-panel.module.css'
import { Titled } from './titled.tsx'

export interface SidePanelProps {
  readonly title: ReactNode
  readonly onClose: () => void
  readonly children: ReactNode
  readonly footer?: ReactNode
  readonly size?: 'normal' | 'wide'
}

/**
 * Shows a panel beside the list, which stays usable. On narrow screens it covers the list. Render it only while it is open.
 * Escape closes it. The focus moves to its heading and returns.
 */
export function SidePanel({ title, onClose, children, footer, size = 'normal' }: SidePanelProps) {
  const id = useId()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const before = document.activeElement
    heading.current?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <aside
      className={styles.panel}
      data-side-panel={size}
      aria-labelledby={id}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return
        // A confirmation that this opens would receive the same key press.
        event.preventDefault()
        event.stopPropagation()
        onClose()
      }}
    >
      <Titled
        id={id}
        title={title}
        headingRef={heading}
        closeLabel="Close panel"
        onClose={onClose}
        footer={footer}
      >
        <div className={styles.body}>{children}</div>
      </Titled>
    </aside>
  )
}
