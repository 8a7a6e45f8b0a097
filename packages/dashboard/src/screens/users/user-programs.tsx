import { useAction, useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Section } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
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
        <Loaded query={grants}>
          {(rows) => (
            <DataTable
              caption="Grants"
              rows={rows}
              rowKey={(grant) => grant.id}
              empty="None."
              columns={[
                { key: 'client', title: 'Client', cell: ({ clientName }) => clientName, isCut: true },
                { key: 'scope', title: 'Scope', cell: ({ scope }) => scope },
                {
                  key: 'tables',
                  title: 'Tables',
                  cell: ({ allowedTables }) => allowedTables.join(', ') || 'all',
                  isMinor: true,
                },
                {
                  key: 'last',
                  title: 'Last token',
                  cell: ({ lastTokenIssuedAt }) => <Time value={lastTokenIssuedAt} />,
                },
                {
                  key: 'revoke',
                  title: 'Actions',
                  align: 'end',
                  cell: (grant) => (
                    <Button
                      size="small"
                      aria-label={`Revoke ${grant.clientName}`}
                      onClick={() => revoke.run(grant.id)}
                    >
                      Revoke
                    </Button>
                  ),
                },
              ]}
            />
          )}
        </Loaded>
      </Section>
    </>
  )
}
