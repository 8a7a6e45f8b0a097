import { type ReactNode, useState } from 'react'
import type { DialogProps } from '../../../ui/dialog.tsx'
import { DraftFields, type Fields } from '../../../ui/fields.tsx'
import { FormDialog } from '../../../ui/form-dialog.tsx'
import { type ReviewRequest, useReview } from '../review/review-context.ts'

/** Form whose change is reviewed before it is applied. `D` is the type of its draft. */
export interface FormDescription<D> {
  readonly title: string
  readonly size?: NonNullable<DialogProps['size']>
  readonly start: D
  /** Inputs of the form. @param send reviews another change than that of the draft */
  readonly fields: (draft: D, send: (request: ReviewRequest) => void) => ReturnType<Fields<NoInfer<D>>>
  /** Corrects the draft after an input, if one member determines another. */
  readonly correct?: (next: D, previous: D) => NoInfer<D>
  /** Returns the change of the draft, or false while a value is missing. */
  readonly review: (draft: D) => ReviewRequest | false
}

/** Describes a form in its own file. The type of the draft follows from `start`. */
export const describeForm = <D extends object>(form: FormDescription<D>) => form

/** Returns the dialog of the open form, and the function that opens one. */
export function useForm() {
  const [dialog, setDialog] = useState<ReactNode>()
  const open = <D extends object>(form: FormDescription<D>) =>
    setDialog(<ReviewForm form={form} onClose={() => setDialog(undefined)} />)
  return { dialog, open }
}

interface ReviewFormProps<D> {
  readonly form: FormDescription<D>
  readonly onClose: () => void
}

/** Renders the dialog of a form. It stays open below the review and keeps its input. */
export function ReviewForm<D extends object>({ form, onClose }: ReviewFormProps<D>) {
  const review = useReview()
  const [draft, setDraft] = useState(form.start)
  const send = (request: ReviewRequest) =>
    review({
      ...request,
      onApplied(applied) {
        onClose()
        request.onApplied?.(applied)
      },
    })
  const request = form.review(draft)
  return (
    <FormDialog
      title={form.title}
      size={form.size ?? 'normal'}
      action="Review"
      isDisabled={request === false}
      onSubmit={() => request && send(request)}
      onClose={onClose}
    >
      <DraftFields
        fields={(value) => form.fields(value, send)}
        value={draft}
        onChange={(next) => setDraft(form.correct?.(next, draft) ?? next)}
      />
    </FormDialog>
  )
}
