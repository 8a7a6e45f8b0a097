import { type ReactNode, useState } from 'react'
import { ConfirmDialog } from './confirm-dialog.tsx'

/** Requires confirmation before closing a form with input. Escape and a press outside are easily made by mistake. */
export function useDiscardConfirmation(
  isChanged: boolean,
  onClose: () => void,
): { readonly close: () => void; readonly confirmation: ReactNode } {
  const [isLeaving, setLeaving] = useState(false)
  return {
    close: () => (isChanged ? setLeaving(true) : onClose()),
    confirmation: isLeaving && (
      <ConfirmDialog
        title="Discard your input?"
        action="Discard"
        onConfirm={onClose}
        onClose={() => setLeaving(false)}
      >
        Nothing has been saved yet.
      </ConfirmDialog>
    ),
  }
}
