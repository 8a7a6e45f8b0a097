import { useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { useAction, useApi } from '../../api/queries.ts'
import { accessLink, auditLink, requestsLink } from '../../links.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { Button } from '../../ui/button.tsx'
import { PageHeader } from '../../ui/layout.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { disableUser, enableUser, type MailPurpose, mailUser, readUser, type User } from './api.ts'
import { DeleteUserDialog } from './delete-user-dialog.tsx'
import { EditUserDialog } from './edit-user-dialog.tsx'
import { ImpersonateDialog } from './impersonate-dialog.tsx'
import { nameOf } from './name.ts'
import { UserOverview } from './user-overview.tsx'
import { UserPrograms } from './user-programs.tsx'
import { UserRows } from './user-rows.tsx'
import { UserSessions } from './user-sessions.tsx'
import { UserSignInMethods } from './user-sign-in-methods.tsx'

export function UserDetail({ id }: { readonly id: string }) {
  const user = useApi(['users', 'one', id], (signal) => readUser(id, signal))
  return <Loaded query={user}>{(found) => <LoadedUser user={found} />}</Loaded>
}

const mails: readonly (readonly [label: string, purpose: MailPurpose])[] = [
  ['Send a password reset link', 'password_reset'],
  ['Send a sign-in link', 'magic_link'],
  ['Send a verification link', 'email_verification'],
  ['Send an invitation', 'invitation'],
]

const needs = 'users.read'

type OpenDialog = 'edit' | 'impersonate' | 'delete'

function LoadedUser({ user }: { readonly user: User }) {
  const { id, email, disabled, emailVerified } = user
  const [dialog, setDialog] = useState<OpenDialog>()
  const [parameters, setParameters] = useSearchParams()
  const [, navigate] = useLocation()
  usePageTitle(nameOf(user))
  const invalidates = [['users']]
  const mail = useAction((purpose: MailPurpose) => mailUser(id, purpose), { done: 'The mail will be sent.' })
  const disable = useAction(() => disableUser(id), {
    invalidates,
    done: 'User disabled. All sessions have ended.',
  })
  const enable = useAction(() => enableUser(id), { invalidates, done: 'User enabled.' })
  const close = () => setDialog(undefined)
  const may = usePermissions()
  const isMailable = email !== '' && !disabled
  return (
    <>
      <PageHeader
        title={nameOf(user)}
        asCode={{ request: { method: 'GET', path: `/api/admin/users/${id}` } }}
        actions={
          <>
            <Button needs="owner" onClick={() => setDialog('edit')}>
              Edit
            </Button>
            <Button needs="owner" disabled={disabled} onClick={() => setDialog('impersonate')}>
              Act as this user
            </Button>
            <Menu
              label="More"
              items={[
                ...mails.map(([label, purpose]) => ({
                  label,
                  needs: 'change' as const,
                  disabled: !isMailable || (purpose === 'email_verification' && emailVerified),
                  onSelect: () => mail.run(purpose),
                })),
                disabled
                  ? { label: 'Enable', needs: 'users.act', onSelect: () => enable.run() }
                  : { label: 'Disable', needs: 'users.act', onSelect: () => disable.run() },
                {
                  label: 'Delete…',
                  needs: 'change',
                  isDangerous: true,
                  onSelect: () => setDialog('delete'),
                },
              ]}
            />
          </>
        }
      >
        <Link href="/users">All users</Link> ·{' '}
        {may('access.explain') && (
          <>
            <Link href={accessLink({ user: id })}>Why can’t they see it?</Link> ·{' '}
          </>
        )}
        <Link href={requestsLink({ user_id: id })}>Requests</Link>
        {may('bodies.read') && (
          <>
            {' '}
            · <Link href={auditLink({ user_id: id })}>Audit</Link>
          </>
        )}
      </PageHeader>
      <Tabs
        label="User"
        value={parameters.get('tab') ?? 'overview'}
        onChange={(tab) => setParameters({ tab }, { replace: true })}
        tabs={[
          { value: 'overview', label: 'Overview', content: <UserOverview user={user} /> },
          { value: 'rows', label: 'Rows', content: <UserRows id={id} />, needs: 'users.manage' },
          { value: 'sessions', label: 'Sessions', content: <UserSessions id={id} />, needs },
          { value: 'ways-in', label: 'Factors and providers', content: <UserSignInMethods id={id} />, needs },
          { value: 'programs', label: 'Keys and grants', content: <UserPrograms id={id} />, needs },
        ]}
      />
      {dialog === 'edit' && <EditUserDialog user={user} onClose={close} />}
      {dialog === 'impersonate' && <ImpersonateDialog user={user} onClose={close} />}
      {dialog === 'delete' && (
        <DeleteUserDialog user={user} onClose={close} onDeleted={() => navigate('/users')} />
      )}
    </>
  )
}
