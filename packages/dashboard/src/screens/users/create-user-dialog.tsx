import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { Checkbox, Select, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { createUser, type NewUser, type User } from './api.ts'

interface CreateUserDialogProps {
  readonly onClose: () => void
  readonly onCreated: (user: User) => void
}

export function CreateUserDialog({ onClose, onCreated }: CreateUserDialogProps) {
  const [way, setWay] = useState<'invite' | 'create'>('invite')
  const [email, setEmail] = useState('')
  const [phone, setPhone] = useState('')
  const [password, setPassword] = useState('')
  const [emailVerified, setEmailVerified] = useState(false)
  const create = useAction(createUser, {
    invalidates: [['users']],
    done: way === 'invite' ? 'The invitation will be sent.' : 'User created.',
    onDone: onCreated,
    failure: 'view',
  })
  const isInvitation = way === 'invite'
  const user: NewUser = isInvitation
    ? { email, invite: true }
    : {
        ...(email === '' ? {} : { email, emailVerified }),
        ...(phone === '' ? {} : { phone }),
        ...(password === '' ? {} : { password }),
      }
  return (
    <FormDialog
      title="Create or invite a user"
      action={isInvitation ? 'Send invitation' : 'Create user'}
      isDisabled={email === '' && (isInvitation || phone === '')}
      isPending={create.isPending}
      error={create.error}
      onSubmit={() => create.run(user)}
      onClose={onClose}
    >
      <Select
        label="Method"
        value={way}
        choices={[
          { value: 'invite', label: 'Invite by mail: the user sets the password' },
          { value: 'create', label: 'Create with these values' },
        ]}
        onChange={setWay}
      />
      <TextField label="Email" type="email" value={email} onChange={setEmail} />
      {!isInvitation && (
        <>
          <Checkbox
            label="Email address is verified"
            checked={emailVerified}
            disabled={email === ''}
            onChange={setEmailVerified}
          />
          <TextField
            label="Phone"
            hint="International format, such as +14155550132"
            type="tel"
            value={phone}
            onChange={setPhone}
          />
          <TextField
            label="Password"
            hint="Without a password, the user signs in with links or codes"
            type="password"
            autoComplete="new-password"
            value={password}
            onChange={setPassword}
          />
        </>
      )}
    </FormDialog>
  )
}
