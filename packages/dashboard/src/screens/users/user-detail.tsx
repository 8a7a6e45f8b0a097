import { useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { accessLink, auditLink, requestsLink } from '../../links.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { AsCode } from '../../ui/as-code.tsx'
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
  const isMailable = email !== '' && !disabled
  return (
    <>
      <PageHeader
        title={nameOf(user)}
        actions={
          <>
            <AsCode request={{ method: 'GET', path: `/api/admin/users/${id}` }} />
            <Button onClick={() => setDialog('edit')}>Edit</Button>
            <Button disabled={disabled} onClick={() => setDialog('impersonate')}>
              Act as this user
            </Button>
            <Menu
              label="More"
              items={[
                {
                  label: 'Send a password reset link',
                  disabled: !isMailable,
                  onSelect: () => mail.run('password_reset'),
                },
                {
                  label: 'Send a sign-in link',
                  disabled: !isMailable,
                  onSelect: () => mail.run('magic_link'),
                },
                {
                  label: 'Send a verification link',
                  disabled: !isMailable || emailVerified,
                  onSelect: () => mail.run('email_verification'),
                },
                {
                  label: 'Send an invitation',
                  disabled: !isMailable,
                  onSelect: () => mail.run('invitation'),
                },
                disabled
                  ? { label: 'Enable', onSelect: () => enable.run() }
                  : { label: 'Disable', onSelect: () => disable.run() },
                { label: 'Delete…', isDangerous: true, onSelect: () => setDialog('delete') },
              ]}
            />
          </>
        }
      >
        <Link href="/users">All users</Link> ·{' '}
        <Link href={accessLink({ user: id })}>Why can’t they see it?</Link> ·{' '}
        <Link href={requestsLink({ user_id: id })}>Requests</Link> ·{' '}
        <Link href={auditLink({ user_id: id })}>Audit</Link>
      </PageHeader>
      <Tabs
        label="User"
        value={parameters.get('tab') ?? 'overview'}
        onChange={(tab) => setParameters({ tab }, { replace: true })}
        tabs={[
          { value: 'overview', label: 'Overview', content: <UserOverview user={user} /> },
          { value: 'rows', label: 'Rows', content: <UserRows id={id} /> },
          { value: 'sessions', label: 'Sessions', content: <UserSessions id={id} /> },
          { value: 'ways-in', label: 'Factors and providers', content: <UserSignInMethods id={id} /> },
          { value: 'programs', label: 'Keys and grants', content: <UserPrograms id={id} /> },
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
