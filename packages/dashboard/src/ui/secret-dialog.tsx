import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Code } from './code.tsx'
import { Dialog } from './dialog.tsx'
import { Notice } from './layout.tsx'

interface SecretDialogProps {
  readonly title: string
  /** Kind of the secret: `API key`. */
  readonly label: string
  readonly secret: string
  /** Instruction above the secret. */
  readonly children?: ReactNode
  readonly onClose: () => void
}

/**
 * Shows a secret that the server does not show again. Only the button closes it, because a press outside would lose the secret.
 */
export function SecretDialog({
  title,
  label,
  secret,
  children = 'This is shown only once. The server stores only its hash.',
  onClose,
}: SecretDialogProps) {
  return (
    <Dialog
      title={title}
      isOpen
      footer={
        <Button variant="primary" onClick={onClose}>
          I have stored it
        </Button>
      }
    >
      <Notice tone="warning">{children}</Notice>
      <Code label={label}>{secret}</Code>
    </Dialog>
  )
}
