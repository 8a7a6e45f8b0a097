import type { ReactNode } from 'react'
import type { DialogProps } from '../../../ui/dialog.tsx'
import { FormDialog } from '../../../ui/form-dialog.tsx'

interface ReviewedFormProps {
  readonly title: string
  readonly children: ReactNode
  /** Opens the review; undefined while something is missing. */
  readonly onSubmit: (() => void) | undefined
  readonly onClose: () => void
  readonly size?: NonNullable<DialogProps['size']>
}

/** A form whose change is reviewed before it is applied; it stays open behind the review, with what was typed. */
export function ReviewedForm({ onSubmit, ...rest }: ReviewedFormProps) {
  return (
    <FormDialog {...rest} action="Review" isDisabled={onSubmit === undefined} onSubmit={() => onSubmit?.()} />
  )
}
