import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { formatCurl } from '../../ui/curl.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { choice, textArea, valueIn } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { Notice } from '../../ui/layout.tsx'
import { Time } from '../../ui/time.tsx'
import { endImpersonation, impersonate, type StartedImpersonation, type User } from './api.ts'
import { nameOf } from './name.ts'
import { TryRequest } from './try-request.tsx'

const levels = [
  { value: 'aal1', label: 'aal1: one factor' },
  { value: 'aal2', label: 'aal2: with a second factor' },
] as const

interface ImpersonateDialogProps {
  readonly user: User
  readonly onClose: () => void
}

/** Requires a reason, and shows the token once. */
export function ImpersonateDialog({ user, onClose }: ImpersonateDialogProps) {
  const [started, setStarted] = useState<StartedImpersonation>()
  if (started !== undefined) return <ActingAs started={started} onClose={onClose} />
  return (
    <ActionForm
      title={`Act as ${nameOf(user)}`}
      action="Act as this user"
      start={{ reason: '', aal: valueIn(levels, 'aal1') }}
      lead={
        <Notice>
          You get an access token of this user for fifteen minutes, or until you sign out. The token can
          access data and files under the policies of the user, but not the account. Audit entries, requests
          and row changes name you as the author, and the user sees the session.
        </Notice>
      }
      fields={() => ({
        reason: textArea('Reason', {
          hint: 'Required. Stored in the audit log.',
          maxLength: 500,
          required: true,
        }),
        aal: choice('Assurance level', levels),
      })}
      send={(input) => impersonate(user.id, input)}
      invalidates={[['impersonations'], ['users', 'sessions', user.id]]}
      onDone={setStarted}
      onClose={onClose}
    />
  )
}

function ActingAs({
  started,
  onClose,
}: {
  readonly started: StartedImpersonation
  readonly onClose: () => void
}) {
  const { token, expiresAt, id, user } = started
  const end = useAction(() => endImpersonation(id), {
    invalidates: [['impersonations'], ['users', 'sessions', user.id]],
    done: 'Impersonation ended.',
    onDone: onClose,
  })
  return (
    <Dialog
      title={`Acting as ${nameOf(user)}`}
      isOpen
      footer={
        <>
          <Button variant="danger" isPending={end.isPending} onClick={() => end.run()}>
            End impersonation
          </Button>
          <Button variant="primary" onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      <Notice tone="warning">
        The token is shown once. It expires at <Time value={expiresAt} /> or when you sign out. The user list
        shows the impersonation until then.
      </Notice>
      <h3>Token</h3>
      <Code label="Token">{token}</Code>
      <TryRequest token={token} />
      <h3>As code</h3>
      <Code label="Requests as code">{examples(token)}</Code>
    </Dialog>
  )
}

function examples(token: string): string {
  const requests = ['/api/schema', '/api/collections/TABLE'].map((path) =>
    formatCurl({ method: 'GET', path }, location.origin),
  )
  return [`TOKEN='${token}'`, ...requests].join('\n\n')
}
