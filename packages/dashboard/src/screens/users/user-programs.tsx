import { useAction, useApi } from '../../api/queries.ts'
import { RowActions } from '../../ui/data-table.tsx'
import { Section } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
import { Time } from '../../ui/time.tsx'
import { KeyTable } from '../api-keys/key-table.tsx'
import { listGrants, revokeGrant } from './api.ts'

export function UserPrograms({ id }: { readonly id: string }) {
  const key = ['users', 'grants', id]
  const grants = useApi(key, (signal) => listGrants(id, signal))
  const revoke = useAction((grant: string) => revokeGrant(id, grant), {
    invalidates: [key],
    done: 'Grant revoked. Its tokens expire within a second.',
  })
  return (
    <>
      <Section title="API keys">
        <KeyTable userId={id} />
      </Section>
      <Section title="Programs with a grant of the user">
        <List
          caption="Grants"
          of={grants}
          empty="No grants yet. A program gets one when the user signs in with it and consents."
          columns={[
            ['Client', ({ clientName }) => clientName, 'cut'],
            ['Scope', ({ scope }) => scope],
            ['Tables', ({ allowedTables }) => allowedTables.join(', ') || 'all', 'minor'],
            ['Last token', ({ lastTokenIssuedAt }) => <Time value={lastTokenIssuedAt} />],
            [
              'Actions',
              (grant) => (
                <RowActions of={grant.clientName} actions={[['Revoke', () => revoke.run(grant.id)]]} />
              ),
              'actions',
            ],
          ]}
        />
      </Section>
    </>
  )
}
