import { useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { ConfirmAction } from '../../ui/confirm-dialog.tsx'
import { choice, text, valueIn } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Menu } from '../../ui/menu.tsx'
import { SecretDialog } from '../../ui/secret-dialog.tsx'
import { Time } from '../../ui/time.tsx'
import {
  type Administrator,
  changeAdministrator,
  createLink,
  inviteAdministrator,
  listAdministrators,
  type Role,
  removeAdministrator,
  removeIdentity,
} from './api.ts'

const again = { invalidates: [['administrators']] }

const roles: readonly { readonly value: Role; readonly label: string }[] = [
  { value: 'owner', label: 'Owner: everything' },
  { value: 'developer', label: 'Developer: rows, users, apps, content' },
  { value: 'support', label: 'Support: reads rows, disables users' },
  { value: 'viewer', label: 'Viewer: logs, usage and structure' },
]

export function AdministratorsScreen() {
  const [isNew, setNew] = useState(false)
  const [link, setLink] = useState<string>()
  const list = useApi(['administrators'], listAdministrators)
  return (
    <>
      <PageHeader
        title="Administrators"
        asCode={{ request: { method: 'GET', path: '/api/admin/administrators' } }}
        action={['Invite', () => setNew(true)]}
      >
        People who run this server. The audit log names who made each change.
      </PageHeader>
      <List
        caption="Administrators"
        of={list}
        columns={[
          ['Administrator', nameOf],
          ['Role', ({ role }) => role],
          ['State', (each) => <State administrator={each} />],
          [
            'Last sign-in',
            ({ lastSignInAt }) => (lastSignInAt === null ? 'never' : <Time value={lastSignInAt} />),
            'minor',
          ],
          ['Actions', (each) => <Actions administrator={each} onLink={setLink} />, 'actions'],
        ]}
      />
      {isNew && <InviteDialog onClose={() => setNew(false)} onLink={setLink} />}
      {link !== undefined && (
        <SecretDialog
          title="Link to set a password"
          label="Link"
          secret={link}
          onClose={() => setLink(undefined)}
        />
      )}
    </>
  )
}

const nameOf = ({ email }: Administrator) => email ?? 'First administrator'

function State({ administrator }: { readonly administrator: Administrator }) {
  const { isDisabled, hasPassword, hasIdentity } = administrator
  if (isDisabled) return <Badge tone="warning">Disabled</Badge>
  return hasPassword || hasIdentity ? <Badge tone="ok">Active</Badge> : <Badge>Invited</Badge>
}

interface ActionsProps {
  readonly administrator: Administrator
  readonly onLink: (link: string) => void
}

function Actions({ administrator, onLink }: ActionsProps) {
  const { id, role, isDisabled, hasIdentity } = administrator
  const name = nameOf(administrator)
  const [removing, setRemoving] = useState<'administrator' | 'identity'>()
  const change = useAction(changeAdministrator, { ...again, done: `${name} changed.` })
  const renew = useAction(createLink, { onDone: ({ url, code }) => onLink(url ?? code) })

  return (
    <>
      <Menu
        label="More"
        name={`More for ${name}`}
        size="small"
        items={[
          ...roles
            .filter(({ value }) => value !== role)
            .map(({ value }) => ({
              label: `Change role to ${value}`,
              onSelect: () => change.run({ id, role: value }),
            })),
          { label: 'New link to set a password', disabled: isDisabled, onSelect: () => renew.run(id) },
          {
            label: isDisabled ? 'Enable' : 'Disable',
            onSelect: () => change.run({ id, isDisabled: !isDisabled }),
          },
          {
            label: 'Unlink the company sign-in',
            disabled: !hasIdentity,
            onSelect: () => setRemoving('identity'),
          },
          { label: 'Remove', isDangerous: true, onSelect: () => setRemoving('administrator') },
        ]}
      />
      {removing === 'identity' && (
        <ConfirmAction
          title={`Unlink the company sign-in of ${name}?`}
          action="Unlink"
          send={() => removeIdentity(id)}
          {...again}
          done={`The company sign-in of ${name} is unlinked.`}
          onClose={() => setRemoving(undefined)}
        >
          <p>Sessions of this administrator end. The next sign-in is matched by its verified address.</p>
        </ConfirmAction>
      )}
      {removing === 'administrator' && (
        <ConfirmAction
          title={`Remove ${name}?`}
          action="Remove administrator"
          send={() => removeAdministrator(id)}
          {...again}
          done={`${name} removed.`}
          onClose={() => setRemoving(undefined)}
        >
          <p>Sessions and tokens of this administrator end. The audit log keeps the entries.</p>
        </ConfirmAction>
      )}
    </>
  )
}

interface InviteDialogProps {
  readonly onClose: () => void
  readonly onLink: (link: string) => void
}

function InviteDialog({ onClose, onLink }: InviteDialogProps) {
  return (
    <ActionForm
      title="Invite an administrator"
      action="Create invitation"
      size="small"
      start={{ email: '', role: valueIn(roles, 'developer') }}
      fields={() => ({
        email: text('Email address', { type: 'email', required: true }),
        role: choice('Role', roles),
      })}
      send={inviteAdministrator}
      {...again}
      onDone={({ invitation }) => {
        onClose()
        // Without passwords, they sign in with the provider, and need no link.
        if (invitation !== null) onLink(invitation.url ?? invitation.code)
      }}
      onClose={onClose}
    />
  )
}
