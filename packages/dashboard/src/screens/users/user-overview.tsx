import { Link } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { useApi } from '../../api/queries.ts'
import { type ApiResponse, get } from '../../api/request.ts'
import { ticketsLink } from '../../links.ts'
import { formatBytes } from '../../ui/format.ts'
import { KeyValue } from '../../ui/layout.tsx'
import { Time } from '../../ui/time.tsx'
import type { User } from './api.ts'
import { signInMethods, UserState } from './user-list.tsx'

export function UserOverview({ user }: { readonly user: User }) {
  const may = usePermissions()
  // Without storage the endpoint does not exist, and nothing is shown.
  const storage = useApi(
    ['users', 'storage', user.id],
    (signal) => get<'storage.getQuota'>(`admin/users/${user.id}/storage-quota`, {}, { signal }),
    { enabled: may('users.read') },
  )
  return (
    <KeyValue
      pairs={[
        ['Id', <code key="id">{user.id}</code>],
        ['Email', user.email || '–'],
        ['Phone', user.phone ?? '–'],
        ['State', <UserState key="state" user={user} />],
        ['Sign-in methods', signInMethods(user).join(', ') || 'links and codes'],
        ['Last active', <Time key="active" value={user.lastActiveAt} />],
        [
          'Support',
          <Link key="tickets" href={ticketsLink({ user: user.id })}>
            tickets
          </Link>,
        ],
        ...(user.app_metadata === undefined
          ? []
          : [['app_metadata', <code key="metadata">{JSON.stringify(user.app_metadata)}</code>] as const]),
        ['Created', <Time key="created" value={user.createdAt} />],
        ['Changed', <Time key="updated" value={user.updatedAt} />],
        ...(storage.data === undefined ? [] : [describeStorage(storage.data)]),
      ]}
    />
  )
}

function describeStorage({ usage_bytes, quota_bytes }: ApiResponse<'storage.getQuota'>): [string, string] {
  const quota = quota_bytes === 0 ? '' : ` of ${formatBytes(quota_bytes)}`
  return ['Files', formatBytes(usage_bytes) + quota]
}
