import { useEffect, useRef } from 'react'
import { useStore } from '../api/store.ts'
import { Button } from './button.tsx'
import styles from './toaster.module.css'
import { dismissToast, toasts } from './toasts.ts'

/** Renders the messages of `showToast`. Use it once in the page. */
export function Toaster() {
  const shown = useStore(toasts)
  const region = useRef<HTMLElement>(null)
  useEffect(() => {
    // The region must be shown after a dialog: in the top layer, the last shown element is on top.
    if (region.current?.matches(':popover-open')) region.current.hidePopover()
    if (shown.length > 0) region.current?.showPopover()
  }, [shown])
  return (
    <section
      ref={region}
      popover="manual"
      className={styles.toaster}
      aria-label="Notifications"
      aria-live="polite"
    >
      {shown.map(({ id, text, kind, action }) => (
        <div key={id} className={styles.toast} data-kind={kind}>
          <p>
            {kind === 'failure' && <strong>Failed: </strong>}
            {text}
          </p>
          {action !== undefined && (
            <Button
              size="small"
              onClick={() => {
                action.run()
                dismissToast(id)
              }}
            >
              {action.label}
            </Button>
          )}
          <Button size="small" variant="plain" aria-label="Dismiss" onClick={() => dismissToast(id)}>
            ×
          </Button>
        </div>
      ))}
    </section>
  )
}
