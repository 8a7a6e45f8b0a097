import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import styles from './dialog.module.css'
import { Titled } from './titled.tsx'

export interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  /** Escape, the close button and a press outside; without it the dialog cannot be dismissed. */
  readonly onClose?: () => void
  readonly children: ReactNode
  /** Buttons; the last one does what the dialog is for. */
  readonly footer?: ReactNode
  readonly size?: 'small' | 'normal' | 'wide'
}

/** In front of the page, which is inert as long as it is open. Focus returns to where it was. */
export function Dialog({ isOpen, ...rest }: DialogProps) {
  return isOpen ? <OpenDialog {...rest} /> : null
}

function OpenDialog({ title, onClose, children, footer, size = 'normal' }: Omit<DialogProps, 'isOpen'>) {
  const dialog = useRef<HTMLDialogElement>(null)
  const body = useRef<HTMLDivElement>(null)
  /** A selection of text that begins inside and ends outside is no press outside, though its click arrives here. */
  const isPressedOutside = useRef(false)
  const id = useId()
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    // A dialog with fields is there to be filled in; the browser would take the close button.
    body.current?.querySelector<HTMLElement>('input:not([hidden]), select, textarea')?.focus()
    // A layout effect, to close it before it leaves the document: the browser then restores focus.
    return () => element?.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape is the key; the browser sends it as `cancel`.
    <dialog
      ref={dialog}
      className={styles.dialog}
      data-size={size}
      aria-labelledby={id}
      onCancel={(event) => {
        // Of this dialog, not of a file field inside of it.
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
