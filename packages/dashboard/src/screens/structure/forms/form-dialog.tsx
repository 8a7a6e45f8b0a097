import { type ReactNode, useId } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import styles from '../structure.module.css'

interface FormDialogProps {
  readonly title: string
  readonly children: ReactNode
  /** Goes on to the review; undefined while something is missing. */
  readonly onSubmit: (() => void) | undefined
  readonly onClose: () => void
  readonly size?: 'small' | 'normal' | 'wide'
}

/** A form whose change is reviewed before it is applied; it stays open behind the review, with what was typed. */
export function FormDialog({ title, children, onSubmit, onClose, size = 'normal' }: FormDialogProps) {
  const form = useId()
  return (
    <Dialog
      title={title}
      isOpen
      size={size}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} look="primary" disabled={onSubmit === undefined}>
            Review
          </Button>
        </>
      }
    >
      <form
        id={form}
        noValidate
        className={styles.fields}
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit?.()
        }}
      >
        {children}
      </form>
    </Dialog>
  )
}
