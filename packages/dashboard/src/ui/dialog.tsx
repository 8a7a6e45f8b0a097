import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import styles from './dialog.module.css'
import { Titled } from './titled.tsx'

export interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  /** Called on Escape, the close button and a press outside. Without it, the dialog cannot be dismissed. */
  readonly onClose?: () => void
  readonly children: ReactNode
  /** Buttons. The last one performs the action of the dialog. */
  readonly footer?: ReactNode
  readonly size?: 'small' | 'normal' | 'wide'
}

/** Shows a modal dialog. The page below it is inert, and the focus returns afterwards. */
export function Dialog({ isOpen, ...rest }: DialogProps) {
  return isOpen ? <OpenDialog {...rest} /> : null
}

function OpenDialog({ title, onClose, children, footer, size = 'normal' }: Omit<DialogProps, 'isOpen'>) {
  const dialog = useRef<HTMLDialogElement>(null)
  const body = useRef<HTMLDivElement>(null)
  /** True if a press started outside. A text selection that ends outside also causes a click here. */
  const isPressedOutside = useRef(false)
  const id = useId()
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    // The focus goes to the first field. The browser would focus the close button.
    body.current?.querySelector<HTMLElement>('input:not([hidden]), select, textarea')?.focus()
    // A layout effect closes the dialog before it leaves the document, so that the browser restores the focus.
    return () => element?.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the browser sends Escape as `cancel`.
    <dialog
      ref={dialog}
      className={styles.dialog}
      data-size={size}
      aria-labelledby={id}
      onCancel={(event) => {
        // A file field inside the dialog sends this event, too.
        if (event.target !== event.currentTarget) return
        event.preventDefault()
        onClose?.()
      }}
      onPointerDown={(event) => {
        isPressedOutside.current = event.target === event.currentTarget
      }}
      onClick={(event) => {
        if (isPressedOutside.current && event.target === event.currentTarget) onClose?.()
      }}
    >
      <div className={styles.frame}>
        <Titled id={id} title={title} closeLabel="Close" onClose={onClose} footer={footer}>
          <div ref={body} className={styles.body}>
            {children}
          </div>
        </Titled>
      </div>
    </dialog>
  )
}
