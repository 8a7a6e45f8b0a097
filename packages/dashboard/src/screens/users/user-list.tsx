import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { moreOf, useApi, usePages } from '../../api/queries.ts'
import { userLink } from '../../links.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Select } from '../../ui/field.tsx'
import { countOf } from '../../ui/format.ts'
import { Badge, FilterField, PageHeader, Toolbar } from '../../ui/layout.tsx'
import { SearchedTo } from '../../ui/searched-to.tsx'
import { EmptyState, LoadedRows } from '../../ui/states.tsx'
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
        actions={
          <>
            <AsCode request={{ method: 'GET', path: `/api/admin/users?${parameters}` }} />
            <Button variant="primary" onClick={() => setCreating(true)}>
              Create or invite
            </Button>
          </>
        }
      >
        {total.data === undefined
          ? ''
          : `${total.data.isTotalEstimated ? 'about ' : ''}${countOf(total.data.totalItems, 'user')}`}
      </PageHeader>
      <Impersonations />
      <Toolbar label="Filters">
        <FilterField
          label="Search by email, phone, name or id"
          value={filters.search ?? ''}
          onChange={(text) => change(text, kind)}
        />
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
      <LoadedRows list={users}>
        {(rows) => (
          <>
            <DataTable
              caption="Users"
              rows={rows}
              rowKey={({ id }) => id}
              href={({ id }) => userLink(id)}
              columns={columns}
              empty={
                parameters.size === 0 ? (
                  <EmptyState
                    icon="users"
                    action="Invite the first user"
                    onAct={() => setCreating(true)}
                    code={signUp}
                    label="Sign-up in your app"
                  >
                    No users yet. Users sign up in your app, or you invite them.
                  </EmptyState>
                ) : (
                  'No users match.'
                )
              }
              {...moreOf(users)}
            />
            <SearchedTo list={users} />
          </>
        )}
      </LoadedRows>
      {isCreating && (
        <CreateUserDialog onClose={() => setCreating(false)} onCreated={({ id }) => navigate(userLink(id))} />
      )}
    </>
  )
}

const columns: readonly Column<User>[] = [
  { key: 'name', title: 'User', cell: nameOf, isCut: true },
  { key: 'state', title: 'State', cell: (user) => <UserState user={user} /> },
  { key: 'phone', title: 'Phone', cell: ({ phone }) => phone ?? '–', isMinor: true },
  {
    key: 'ways',
    title: 'Sign-in methods',
    cell: (user) => signInMethods(user).join(', ') || 'links and codes',
    isMinor: true,
  },
  {
    key: 'active',
    title: 'Last active',
    cell: ({ lastActiveAt }) => <Time value={lastActiveAt} />,
    isMinor: true,
  },
  { key: 'created', title: 'Created', cell: ({ createdAt }) => <Time value={createdAt} />, isMinor: true },
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
