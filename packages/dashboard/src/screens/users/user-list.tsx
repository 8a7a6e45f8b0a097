import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { usePermissions } from '../../api/administrator.ts'
import { useApi, usePages } from '../../api/queries.ts'
import { userLink } from '../../links.ts'
import { Button } from '../../ui/button.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { Select } from '../../ui/field.tsx'
import { countOf } from '../../ui/format.ts'
import { Badge, FilterField, PageHeader, Toolbar } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { countUsers, listUsers, type User } from './api.ts'
import { CreateUserDialog } from './create-user-dialog.tsx'
import { Impersonations } from './impersonations.tsx'
import { nameOf } from './name.ts'

/** Filters of the list. Each is an API parameter with one value. */
const kinds = {
  '': 'All users',
  'disabled=true': 'Disabled',
  'disabled=false': 'Not disabled',
  'anonymous=true': 'Anonymous',
  'anonymous=false': 'Not anonymous',
  'verified=false': 'Email not verified',
  'verified=true': 'Email verified',
  'factor=true': 'With a second factor',
  'factor=false': 'Without a second factor',
} as const
type Kind = keyof typeof kinds

const signUp = `import { createAuth } from '@basaltdb/client/auth'
const auth = createAuth({ url: '${location.origin}' })
await auth.signUp({ email, password })`

export function UserList() {
  const [parameters, setParameters] = useSearchParams()
  const [isCreating, setCreating] = useState(false)
  const may = usePermissions()
  const [, navigate] = useLocation()
  const textOf = (name: string) => parameters.get(name) ?? undefined
  const filters = {
    search: textOf('search'),
    disabled: textOf('disabled'),
    anonymous: textOf('anonymous'),
    verified: textOf('verified'),
    factor: textOf('factor'),
    provider: textOf('provider'),
  }
  const users = usePages(['users', filters], (cursor, signal) => listUsers(filters, cursor, signal))
  const total = useApi(['users', 'total', filters], (signal) => countUsers(filters, signal))
  const kind = kindOf(parameters)
  const change = (search: string, next: Kind) => {
    const chosen = new URLSearchParams(next)
    if (search !== '') chosen.set('search', search)
    if (filters.provider !== undefined) chosen.set('provider', filters.provider)
    setParameters(chosen, { replace: true })
  }
  return (
    <>
      <PageHeader
        title="Users"
        asCode={{ request: { method: 'GET', path: `/api/admin/users?${parameters}` } }}
        action={['Create or invite', () => setCreating(true)]}
      >
        {total.data === undefined
          ? ''
          : `${total.data.isTotalEstimated ? 'about ' : ''}${countOf(total.data.totalItems, 'user')}`}
      </PageHeader>
      {may('users.read') && <Impersonations />}
      <Toolbar label="Filters">
        {may('users.read') && (
          <FilterField
            label="Search by email, phone, name or id"
            value={filters.search ?? ''}
            onChange={(text) => change(text, kind)}
          />
        )}
        <Select
          label="Filter"
          hidesLabel
          value={kind}
          choices={Object.entries(kinds).map(([value, label]) => ({
            // The values are the keys of the object above.
            value: value as Kind,
            label,
          }))}
          onChange={(next) => change(filters.search ?? '', next)}
        />
        {filters.provider !== undefined && (
          <Button onClick={() => setParameters({}, { replace: true })}>Linked to {filters.provider} ×</Button>
        )}
      </Toolbar>
      <List
        caption="Users"
        of={users}
        href={({ id }) => userLink(id)}
        columns={columns}
        isFiltered={parameters.size > 0}
        empty="No users yet. Users sign up in your app, or you invite them."
        first={['Invite the first user', () => setCreating(true)]}
        example={[signUp, 'Sign-up in your app']}
      />
      {isCreating && (
        <CreateUserDialog onClose={() => setCreating(false)} onCreated={({ id }) => navigate(userLink(id))} />
      )}
    </>
  )
}

const columns: readonly Column<User>[] = [
  ['User', nameOf, 'cut'],
  ['State', (user) => <UserState user={user} />],
  ['Phone', ({ phone }) => phone ?? '–', 'minor'],
  ['Sign-in methods', (user) => signInMethods(user).join(', ') || 'links and codes', 'minor'],
  ['Last active', ({ lastActiveAt }) => <Time value={lastActiveAt} />, 'minor'],
  ['Created', ({ createdAt }) => <Time value={createdAt} />, 'minor'],
]

export function signInMethods({ hasPassword, providers, factors }: User): string[] {
  return [...(hasPassword ? ['password'] : []), ...providers, ...factors.map((factor) => `+ ${factor}`)]
}

export function UserState({ user }: { readonly user: User }) {
  return (
    <>
      {user.disabled && <Badge tone="danger">disabled</Badge>} {user.is_anonymous && <Badge>anonymous</Badge>}{' '}
      {user.email !== '' &&
        (user.emailVerified ? <Badge tone="ok">verified</Badge> : <Badge tone="warning">unverified</Badge>)}
    </>
  )
}

function kindOf(parameters: URLSearchParams): Kind {
  for (const kind of Object.keys(kinds)) {
    const [name = '', value] = kind.split('=')
    // The value is a key of the object above.
    if (name !== '' && parameters.get(name) === value) return kind as Kind
  }
  return ''
}
