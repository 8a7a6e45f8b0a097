import { Button } from './button.tsx'
import { Code } from './code.tsx'
import { Dialog } from './dialog.tsx'
import { Notice } from './layout.tsx'

interface SecretDialogProps {
  readonly title: string
  /** What it is: `API key`. */
  readonly label: string
  readonly secret: string
  readonly onClose: () => void
}

/** A secret that the server does not show again. Only the button closes it: a press outside would lose the secret. */
export function SecretDialog({ title, label, secret, onClose }: SecretDialogProps) {
  return (
    <Dialog
      title={title}
      isOpen
      footer={
        <Button look="primary" onClick={onClose}>
          I have stored it
        </Button>
      }
    >
      <Notice tone="warning">This is shown once. The server keeps a hash of it only.</Notice>
      <Code label={label}>{secret}</Code>
    </Dialog>
  )
}
