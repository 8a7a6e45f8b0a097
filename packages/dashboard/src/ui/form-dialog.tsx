import { type ReactNode, useId, useState } from 'react'
import type { Need } from '../api/administrator.ts'
import { type ActionOptions, useAction } from '../api/queries.ts'
import { Button } from './button.tsx'
import { Dialog, type DialogProps } from './dialog.tsx'
import { DraftFields, type Fields, isComplete } from './fields.tsx'
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

interface DescribedForm<Draft, Result> extends Omit<ActionOptions<Draft, Result>, 'failure'> {
  /** Label of the button. */
  readonly action: string
  readonly start: Draft
  readonly fields: Fields<NoInfer<Draft>>
  /** Returns false while a value is wrong that no input checks. */
  readonly isReady?: (draft: Draft) => boolean
  /** Corrects the draft after an input, if one member determines another. */
  readonly correct?: (next: Draft, previous: Draft) => NoInfer<Draft>
  readonly send: (draft: Draft) => Promise<Result>
  /** Members that a successful request empties. */
  readonly cleared?: Partial<NoInfer<Draft>>
}

/** Returns the draft of a form, its inputs, and its request. An error of the server that names a field is shown there. */
function useDraft<Draft extends object, Result>({
  start,
  fields,
  isReady = () => true,
  correct = (next) => next,
  send,
  cleared = {},
  ...options
}: DescribedForm<Draft, Result>) {
  const [draft, setDraft] = useState(start)
  const { run, isPending, error, result } = useAction(send, {
    ...options,
    failure: 'view',
    onDone(...response) {
      setDraft((current) => ({ ...current, ...cleared }))
      options.onDone?.(...response)
    },
  })
  // Messages of the server about a member begin with its name.
  const field = /^\w+/.exec(error?.message ?? '')?.[0] ?? ''
  const isPlaced = Object.entries(fields(draft)).some(([name, input]) => name === field && input)
  return {
    draft,
    result,
    state: {
      ...{
        isPending,
        isDisabled: !isComplete(fields, draft) || !isReady(draft),
        error: isPlaced ? null : error,
      },
      onSubmit: () => run(draft),
    },
    inputs: (
      <DraftFields
        fields={fields}
        value={draft}
        onChange={(next: Draft) => setDraft(correct(next, draft))}
        errors={isPlaced && error !== null ? { [field]: error.message } : {}}
      />
    ),
  }
}

interface ActionFormProps<Draft, Result> extends DescribedForm<Draft, Result> {
  readonly title: string
  readonly size?: NonNullable<DialogProps['size']>
  /** Content above the inputs. */
  readonly lead?: ReactNode
  /** Content below the inputs. */
  readonly children?: (draft: Draft) => ReactNode
  readonly onClose: () => void
}

/** Shows the dialog of a form from its description, and sends it. Unless `onDone` is set, it closes after success. */
export function ActionForm<Draft extends object, Result>(props: ActionFormProps<Draft, Result>) {
  const { title, action, size = 'normal', lead, children, onClose, onDone = () => onClose(), ...form } = props
  const { draft, state, inputs } = useDraft({ ...form, action, onDone })
  return (
    <FormDialog {...{ title, action, size, onClose, ...state }}>
      {lead}
      {inputs}
      {children?.(draft)}
    </FormDialog>
  )
}

interface InlineFormProps<Draft, Result> extends DescribedForm<Draft, Result> {
  readonly isPrimary?: boolean
  /** Permission for the button: `change`, unless set. */
  readonly needs?: Need
  /** Further buttons. */
  readonly buttons?: ReactNode
  /** Content below the buttons, such as the result. */
  readonly children?: (result: Result | undefined, draft: Draft) => ReactNode
}

/** Renders a form from its description within a view, and sends it. */
export function InlineForm<Draft extends object, Result>(props: InlineFormProps<Draft, Result>) {
  const { action, isPrimary = true, needs = 'change', buttons, children, ...form } = props
  const { draft, result, state, inputs } = useDraft({ ...form, action })
  return (
    <Form onSubmit={state.onSubmit}>
      {inputs}
      {state.error !== null && <Failure error={state.error} />}
      <div>
        <Button
          type="submit"
          needs={needs}
          variant={isPrimary ? 'primary' : 'normal'}
          isPending={state.isPending}
          disabled={state.isDisabled}
        >
          {action}
        </Button>{' '}
        {buttons}
      </div>
      {children?.(result, draft)}
    </Form>
  )
}
