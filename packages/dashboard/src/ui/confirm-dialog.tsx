import { type ReactNode, useId, useState } from 'react'
import { type ActionOptions, useAction } from '../api/queries.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { TextField } from './field.tsx'
import { Failure } from './states.tsx'

export interface ConfirmDialogProps {
  readonly title: string
  /** Consequence of the action, with the number of affected objects. */
  readonly children: ReactNode
  /** Label of the button: `Delete 3 users`. */
  readonly action: string
  /** Text that the user has to type first. For permanent loss of data. */
  readonly name?: string | undefined
  readonly isDangerous?: boolean
  readonly isDisabled?: boolean
  readonly isPending?: boolean
  readonly error?: Error | null | undefined
  readonly onConfirm: () => void
  readonly onClose: () => void
}

/** Shows the dialog. Render it only while it is open. */
export function ConfirmDialog({
  title,
  children,
  action,
  name,
  isDangerous = true,
  isDisabled = false,
  isPending = false,
  error,
  onConfirm,
  onClose,
}: ConfirmDialogProps) {
  const [typed, setTyped] = useState('')
  const form = useId()
  return (
    <Dialog
      title={title}
      isOpen
      size="small"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            form={form}
            variant={isDangerous ? 'danger' : 'primary'}
            isPending={isPending}
            disabled={isDisabled || (name !== undefined && typed !== name)}
          >
            {action}
          </Button>
        </>
      }
    >
      <form
        id={form}
        onSubmit={(event) => {
          event.preventDefault()
          onConfirm()
        }}
      >
        <div>{children}</div>
        {name !== undefined && (
          <TextField label={`Type ${name} to confirm`} value={typed} onChange={setTyped} isCode />
        )}
        {error != null && <Failure error={error} />}
      </form>
    </Dialog>
  )
}

interface ConfirmActionProps<Result>
  extends Omit<ConfirmDialogProps, 'isPending' | 'error' | 'onConfirm'>,
    Omit<ActionOptions<void, Result>, 'failure'> {
  readonly send: () => Promise<Result>
}

/** Shows the confirmation of a request, and sends it. Unless `onDone` is set, the dialog closes after success. */
export function ConfirmAction<Result>({
  send,
  invalidates = [],
  done,
  onDone = () => onClose(),
  onClose,
  ...dialog
}: ConfirmActionProps<Result>) {
  const { run, isPending, error } = useAction(send, {
    ...{ invalidates, onDone, failure: 'view' },
    ...(done !== undefined && { done }),
  })
  return <ConfirmDialog {...{ ...dialog, isPending, error, onClose }} onConfirm={() => run()} />
}
