import { type ReactNode, useId, useState } from 'react'
import { Button } from './button.tsx'
import { Dialog, type DialogProps } from './dialog.tsx'
import { Form } from './layout.tsx'
import { Failure } from './states.tsx'
import { useDiscardConfirmation } from './use-discard-confirmation.tsx'

interface FormDialogProps {
  readonly title: string
  /** Label of the button: `Create key`. */
  readonly action: string
  readonly children: ReactNode
  readonly size?: NonNullable<DialogProps['size']>
  readonly isDisabled?: boolean
  readonly isPending?: boolean
  /** Error of the server. */
  readonly error?: Error | null
  readonly onSubmit: () => void
  readonly onClose: () => void
}

/**
 * Shows a form in a dialog. Render it only while it is open. Once the user has entered something, only Cancel closes it without
 * a confirmation.
 */
export function FormDialog({
  title,
  action,
  children,
  size = 'normal',
  isDisabled = false,
  isPending = false,
  error = null,
  onSubmit,
  onClose,
}: FormDialogProps) {
  const form = useId()
  const [isChanged, setChanged] = useState(false)
  const { close, confirmation } = useDiscardConfirmation(isChanged, onClose)
  return (
    <>
      <Dialog
        title={title}
        isOpen
        size={size}
        onClose={close}
        footer={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" form={form} variant="primary" isPending={isPending} disabled={isDisabled}>
              {action}
            </Button>
          </>
        }
      >
        <Form id={form} onSubmit={onSubmit} onChange={() => setChanged(true)}>
          {children}
          {error !== null && <Failure error={error} />}
        </Form>
      </Dialog>
      {confirmation}
    </>
  )
}
