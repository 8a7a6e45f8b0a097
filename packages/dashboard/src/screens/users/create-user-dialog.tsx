import { useState } from 'react'
import { Select } from '../../ui/field.tsx'
import { checkbox, text, valueIn } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { createUser, type User } from './api.ts'

interface CreateUserDialogProps {
  readonly onClose: () => void
  readonly onCreated: (user: User) => void
}

const ways = [
  { value: 'invite', label: 'Invite by mail: the user sets the password' },
  { value: 'create', label: 'Create with these values' },
] as const

export function CreateUserDialog({ onClose, onCreated }: CreateUserDialogProps) {
  const [way, setWay] = useState(valueIn(ways, 'invite'))
  const isInvitation = way === 'invite'
  return (
    <ActionForm
      title="Create or invite a user"
      action={isInvitation ? 'Send invitation' : 'Create user'}
      lead={<Select label="Method" value={way} choices={ways} onChange={setWay} />}
      start={{ email: '', emailVerified: false, phone: '', password: '' }}
      fields={({ email }) => ({
        email: text('Email', { type: 'email' }),
        ...(!isInvitation && {
          emailVerified: checkbox('Email address is verified', { disabled: email === '' }),
          phone: text('Phone', { hint: 'International format, such as +14155550132', type: 'tel' }),
          password: text('Password', {
            hint: 'Without a password, the user signs in with links or codes',
            type: 'password',
            autoComplete: 'new-password',
          }),
        }),
      })}
      isReady={({ email, phone }) => email !== '' || (!isInvitation && phone !== '')}
      send={({ email, emailVerified, phone, password }) =>
        createUser(
          isInvitation
            ? { email, invite: true }
            : {
                ...(email === '' ? {} : { email, emailVerified }),
                ...(phone === '' ? {} : { phone }),
                ...(password === '' ? {} : { password }),
              },
        )
      }
      invalidates={[['users']]}
      done={isInvitation ? 'The invitation will be sent.' : 'User created.'}
      onDone={onCreated}
      onClose={onClose}
    />
  )
}
