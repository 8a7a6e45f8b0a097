import { type ReactNode, useId, useState } from 'react'
import { Button } from './button.tsx'
import { Dialog, type DialogProps } from './dialog.tsx'
import { Form } from './layout.tsx'
import { Failure } from './states.tsx'
import { useDiscardQuestion } from './use-discard-question.tsx'

interface FormDialogProps {
  readonly title: string
  /** What the button says: `Create key`. */
  readonly action: string
  readonly children: ReactNode
  readonly size?: NonNullable<DialogProps['size']>
  readonly isDisabled?: boolean
  readonly isPending?: boolean
  /** What the server has refused. */
  readonly error?: Error | null
  readonly onSubmit: () => void
  readonly onClose: () => void
}

/**
 * Fields in a dialog and the button that sends them. Rendered while it is open. Once something is entered, only Cancel
 * closes it without a question.
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
  const { close, question } = useDiscardQuestion(isChanged, onClose)
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
            <Button type="submit" form={form} look="primary" isPending={isPending} disabled={isDisabled}>
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
      {question}
    </>
  )
}
