import { useState } from 'react'
import { hasPasskeys } from '../api/passkeys.ts'
import { useAction } from '../api/queries.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/layout.tsx'

interface SecondFactorFormProps {
  /** Label of the button: `Confirm`. */
  readonly action: string
  readonly onCode: (code: string) => Promise<unknown>
  readonly onPasskey: () => Promise<unknown>
  readonly onCancel: () => void
}

/** Requests a second factor: a code of the authenticator app, a backup code, or a passkey. */
export function SecondFactorForm({ action, onCode, onPasskey, onCancel }: SecondFactorFormProps) {
  const [code, setCode] = useState('')
  const sendCode = useAction(() => onCode(code), { failure: 'view' })
  const sendPasskey = useAction(onPasskey, { failure: 'view' })
  const error = sendCode.error ?? sendPasskey.error
  return (
    <Form onSubmit={() => sendCode.run()}>
      <TextField
        label="Code of the authenticator app, or backup code"
        autoComplete="one-time-code"
        autoFocus
        required
        value={code}
        onChange={setCode}
        error={error?.message}
      />
      <Button type="submit" variant="primary" isPending={sendCode.isPending} disabled={code.trim() === ''}>
        {action}
      </Button>
      {hasPasskeys && (
        <Button isPending={sendPasskey.isPending} onClick={() => sendPasskey.run()}>
          Use a passkey
        </Button>
      )}
      <Button variant="plain" onClick={onCancel}>
        Cancel
      </Button>
    </Form>
  )
}
