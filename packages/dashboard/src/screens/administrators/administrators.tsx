import { useState } from 'react'
import { useAction, useApi } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { Menu } from '../../ui/menu.tsx'
import { SecretDialog } from '../../ui/secret-dialog.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import {
  type Administrator,
  changeAdministrator,
  createLink,
  inviteAdministrator,
  listAdministrators,
  type Role,
  removeAdministrator,
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
        actions={
          <>
            <AsCode request={{ method: 'GET', path: '/api/admin/administrators' }} />
            <Button variant="primary" onClick={() => setNew(true)}>
              Invite
            </Button>
          </>
        }
      >
        People who run this server. The audit log names who made each change.
      </PageHeader>
      <Loaded query={list}>
        {({ items }) => (
          <DataTable
            caption="Administrators"
            rows={items}
            rowKey={({ id }) => id}
            empty="There are no administrators."
            columns={[
              { key: 'name', title: 'Administrator', cell: nameOf },
              { key: 'role', title: 'Role', cell: ({ role }) => role },
              { key: 'state', title: 'State', cell: (each) => <State administrator={each} /> },
              {
                key: 'signIn',
                title: 'Last sign-in',
                isMinor: true,
                cell: ({ lastSignInAt }) => (lastSignInAt === null ? 'never' : <Time value={lastSignInAt} />),
              },
              {
                key: 'actions',
                title: <span className="visually-hidden">Actions</span>,
                align: 'end',
                cell: (each) => <Actions administrator={each} onLink={setLink} />,
              },
            ]}
          />
        )}
      </Loaded>
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

function State({ administrator: { isDisabled, hasPassword } }: { readonly administrator: Administrator }) {
  if (isDisabled) return <Badge tone="warning">Disabled</Badge>
  return hasPassword ? <Badge tone="ok">Active</Badge> : <Badge>Invited</Badge>
}

interface ActionsProps {
  readonly administrator: Administrator
  readonly onLink: (link: string) => void
}

function Actions({ administrator, onLink }: ActionsProps) {
  const { id, role, isDisabled } = administrator
  const name = nameOf(administrator)
  const [isRemoving, setRemoving] = useState(false)
  const change = useAction(changeAdministrator, { ...again, done: `${name} changed.` })
  const renew = useAction(createLink, { onDone: ({ url, code }) => onLink(url ?? code) })
  const remove = useAction(removeAdministrator, {
    ...again,
    failure: 'view',
    done: `${name} removed.`,
    onDone: () => setRemoving(false),
  })
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
          { label: 'Remove', isDangerous: true, onSelect: () => setRemoving(true) },
        ]}
      />
      {isRemoving && (
        <ConfirmDialog
          title={`Remove ${name}?`}
          action="Remove administrator"
          isPending={remove.isPending}
          error={remove.error}
          onConfirm={() => remove.run(id)}
          onClose={() => setRemoving(false)}
        >
          <p>Sessions and tokens of this administrator end. The audit log keeps the entries.</p>
        </ConfirmDialog>
      )}
    </>
  )
}

interface InviteDialogProps {
  readonly onClose: () => void
  readonly onLink: (link: string) => void
}

function InviteDialog({ onClose, onLink }: InviteDialogProps) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('developer')
  const action = useAction(inviteAdministrator, {
    ...again,
    failure: 'view',
    onDone({ invitation: { url, code } }) {
      onClose()
      onLink(url ?? code)
    },
  })
  return (
    <FormDialog
      title="Invite an administrator"
      action="Create invitation"
      size="small"
      error={action.error}
      isPending={action.isPending}
      onSubmit={() => action.run({ email, role })}
      onClose={onClose}
    >
      <TextField label="Email address" type="email" value={email} onChange={setEmail} required />
      <Select label="Role" value={role} onChange={setRole} choices={roles} />
    </FormDialog>
  )
}
