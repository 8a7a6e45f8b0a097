import { useState } from 'react'
import { createPasskey, hasPasskeys } from '../api/passkeys.ts'
import { useAction, useApi } from '../api/queries.ts'
import { get, post, remove, segment } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Code } from '../ui/code.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { Form, Notice } from '../ui/layout.tsx'
import { QrCode } from '../ui/qr-code.tsx'
import { Loaded } from '../ui/states.tsx'
import { Time } from '../ui/time.tsx'
import { checkSession } from './session.ts'

const key = ['own-factors']
const again = { invalidates: [key] }

/** Shows the second factors of the administrator above the page. */
export function OwnFactorsDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Second factor" isOpen size="small" onClose={onClose}>
      <OwnFactors />
    </Dialog>
  )
}

/** Shows the second factors of the administrator, and enrols and removes them. */
export function OwnFactors() {
  const [codes, setCodes] = useState<readonly string[]>([])
  const factors = useApi(key, (signal) =>
    get<'administrators.listFactors'>('admin/account/factors', {}, { signal }),
  )
  const onEnrolled = ({ backupCodes }: { readonly backupCodes: readonly string[] }) => setCodes(backupCodes)
  const addPasskey = useAction(
    async () => {
      const options = await post<'administrators.enrollPasskey'>('admin/account/passkeys')
      const attestation_response = await createPasskey(options)
      return await post<'administrators.confirmPasskey'>('admin/account/passkeys/confirm', {
        attestation_response,
      })
    },
    { ...again, done: 'Passkey added.', onDone: onEnrolled },
  )
  const removeApp = useAction(() => remove<'administrators.removeTotp'>('admin/account/factors/totp'), {
    ...again,
    done: 'Authenticator app removed.',
  })
  const removePasskey = useAction(
    (id: string) => remove<'administrators.removePasskey'>(`admin/account/passkeys/${segment(id)}`),
    { ...again, done: 'Passkey removed.' },
  )
  const renew = useAction(
    () => post<'administrators.renewBackupCodes'>('admin/account/factors/backup-codes'),
    { ...again, onDone: onEnrolled },
  )
  if (codes.length > 0) return <BackupCodes codes={codes} onStored={() => setCodes([])} />
  return (
    <Loaded query={factors}>
      {({ totp, passkeys, backupCodes }) => (
        <>
          {totp === null ? (
            <EnrollApp onEnrolled={onEnrolled} />
          ) : (
            <p>
              Authenticator app, since <Time value={totp.confirmedAt} />{' '}
              <Button size="small" isPending={removeApp.isPending} onClick={() => removeApp.run()}>
                Remove the app
              </Button>
            </p>
          )}
          {passkeys.map(({ id, displayName, createdAt }) => (
            <p key={id}>
              {displayName}, since <Time value={createdAt} />{' '}
              <Button size="small" onClick={() => removePasskey.run(id)}>
                Remove {displayName}
              </Button>
            </p>
          ))}
          {hasPasskeys && (
            <Button isPending={addPasskey.isPending} onClick={() => addPasskey.run()}>
              Add a passkey
            </Button>
          )}
          {(totp !== null || passkeys.length > 0) && (
            <p>
              {backupCodes} unused backup codes{' '}
              <Button size="small" isPending={renew.isPending} onClick={() => renew.run()}>
                New backup codes
              </Button>
            </p>
          )}
        </>
      )}
    </Loaded>
  )
}

interface EnrollAppProps {
  readonly onEnrolled: (result: { readonly backupCodes: readonly string[] }) => void
}

function EnrollApp({ onEnrolled }: EnrollAppProps) {
  const [code, setCode] = useState('')
  const begin = useAction(() => post<'administrators.enrollTotp'>('admin/account/factors/totp'))
  const confirm = useAction(
    () => post<'administrators.confirmTotp'>('admin/account/factors/totp/confirm', { code }),
    { ...again, failure: 'view', onDone: onEnrolled },
  )
  if (begin.result === undefined) {
    return (
      <Button variant="primary" isPending={begin.isPending} onClick={() => begin.run()}>
        Add an authenticator app
      </Button>
    )
  }
  return (
    <Form onSubmit={() => confirm.run()}>
      <p>
        Scan the code with the authenticator app, or enter the secret. Then enter the code that the app shows.
      </p>
      <QrCode label="QR code of the secret" text={begin.result.uri} />
      <Code label="Secret">{begin.result.secret}</Code>
      <TextField
        label="Code"
        autoComplete="one-time-code"
        required
        value={code}
        onChange={setCode}
        error={confirm.error?.message}
      />
      <Button type="submit" variant="primary" isPending={confirm.isPending} disabled={code.trim() === ''}>
        Confirm the app
      </Button>
    </Form>
  )
}

function BackupCodes({
  codes,
  onStored,
}: {
  readonly codes: readonly string[]
  readonly onStored: () => void
}) {
  const store = useAction(async () => {
    onStored()
    await checkSession()
  })
  return (
    <>
      <Notice tone="warning">
        Each backup code replaces your second factor once. They are shown only once.
      </Notice>
      <Code label="Backup codes">{codes.join('\n')}</Code>
      <Button variant="primary" onClick={() => store.run()}>
        I have stored them
      </Button>
    </>
  )
}
