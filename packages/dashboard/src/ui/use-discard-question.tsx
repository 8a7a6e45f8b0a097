import { type ReactNode, useState } from 'react'
import { ConfirmDialog } from './confirm-dialog.tsx'

/** Escape and a press outside are easily made by mistake: with something entered they ask first. */
export function useDiscardQuestion(
  isChanged: boolean,
  onClose: () => void,
): { readonly close: () => void; readonly question: ReactNode } {
  const [isLeaving, setLeaving] = useState(false)
  return {
    close: () => (isChanged ? setLeaving(true) : onClose()),
    question: isLeaving && (
      <ConfirmDialog
        title="Discard what you entered?"
        action="Discard"
        onConfirm={onClose}
        onClose={() => setLeaving(false)}
      >
        Nothing of it is saved yet.
      </ConfirmDialog>
    ),
  }
}
