import { checkbox, text } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { Notice } from '../../ui/layout.tsx'
import { changeUser, type User, type UserChange } from './api.ts'

export function EditUserDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const start = { email: user.email, emailVerified: user.emailVerified, phone: user.phone ?? '' }
  const changeOf = ({ email, emailVerified, phone }: typeof start): UserChange => ({
    ...(email !== start.email && { email }),
    ...((email !== start.email || emailVerified !== start.emailVerified) && { emailVerified }),
    ...(phone !== start.phone && { phone: phone === '' ? null : phone }),
  })
  return (
    <ActionForm
      title="Edit user"
      action="Save"
      start={start}
      fields={({ email }) => ({
        email: text('Email', { type: 'email' }),
        emailVerified: checkbox('Email address is verified', { disabled: email === '' }),
        phone: text('Phone', {
          hint: 'International format, such as +14155550132. Leave empty for none.',
          type: 'tel',
        }),
      })}
      // A changed email address is not verified, even if the previous one was.
      correct={(next, { email }) =>
        next.email === email
          ? next
          : { ...next, emailVerified: next.email === start.email && start.emailVerified }
      }
      isReady={(draft) => Object.keys(changeOf(draft)).length > 0}
      send={(draft) => changeUser(user.id, changeOf(draft))}
      invalidates={[['users']]}
      done="User saved."
      onClose={onClose}
    >
      {({ email, emailVerified }) =>
        (email !== start.email || (start.emailVerified && !emailVerified)) && (
          <Notice tone="warning">This ends all sessions of the user.</Notice>
        )
      }
    </ActionForm>
  )
}
