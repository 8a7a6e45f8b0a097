import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { Checkbox, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Notice } from '../../ui/layout.tsx'
import { changeUser, type User, type UserChange } from './api.ts'

export function EditUserDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const [email, setEmail] = useState(user.email)
  const [phone, setPhone] = useState(user.phone ?? '')
  const [emailVerified, setEmailVerified] = useState(user.emailVerified)
  const isMoved = email !== user.email
  const change: UserChange = {
    ...(isMoved ? { email } : {}),
    ...(isMoved || emailVerified !== user.emailVerified ? { emailVerified } : {}),
    ...(phone === (user.phone ?? '') ? {} : { phone: phone === '' ? null : phone }),
  }
  const save = useAction((values: UserChange) => changeUser(user.id, values), {
    invalidates: [['users']],
    done: 'User saved.',
    onDone: onClose,
    failure: 'view',
  })
  const endsSessions = isMoved || (user.emailVerified && !emailVerified)
  return (
    <FormDialog
      title="Edit user"
      action="Save"
      isDisabled={Object.keys(change).length === 0}
      isPending={save.isPending}
      error={save.error}
      onSubmit={() => save.run(change)}
      onClose={onClose}
    >
      <TextField
        label="Email"
        type="email"
        value={email}
        onChange={(text) => {
          setEmail(text)
          // A changed email address is not verified, even if the previous one was.
          setEmailVerified(text === user.email && user.emailVerified)
        }}
      />
      <Checkbox
        label="Email address is verified"
        checked={emailVerified}
        disabled={email === ''}
        onChange={setEmailVerified}
      />
      <TextField
        label="Phone"
        hint="International format, such as +14155550132. Leave empty for none."
        type="tel"
        value={phone}
        onChange={setPhone}
      />
      {endsSessions && <Notice tone="warning">This ends all sessions of the user.</Notice>}
    </FormDialog>
  )
}
