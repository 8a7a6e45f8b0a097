import { useAction, useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Badge, Section } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { endSession, endSessions, listSessions } from './api.ts'

export function UserSessions({ id }: { readonly id: string }) {
  const key = ['users', 'sessions', id]
  const sessions = useApi(key, (signal) => listSessions(id, signal))
  const end = useAction((session: string) => endSession(id, session), {
    invalidates: [key, ['impersonations']],
    done: 'Session ended.',
  })
  const endAll = useAction(() => endSessions(id), {
    invalidates: [key, ['impersonations']],
    done: 'All sessions have ended.',
  })
  return (
    <Section
      title="Sessions"
      actions={
        <Button disabled={(sessions.data?.length ?? 0) === 0} onClick={() => endAll.run()}>
          End all
        </Button>
      }
    >
      <Loaded query={sessions}>
        {(rows) => (
          <DataTable
            caption="Sessions"
            rows={rows}
            rowKey={(session) => session.id}
            empty="The user has no sessions."
            columns={[
              {
                key: 'agent',
                title: 'Client',
                cell: ({ user_agent, impersonated_by }) =>
                  impersonated_by === undefined ? (
                    user_agent || 'unknown'
                  ) : (
                    <Badge tone="warning">{impersonated_by} acts as the user</Badge>
                  ),
                isCut: true,
              },
              { key: 'address', title: 'Address', cell: ({ ip_address }) => ip_address },
              {
                key: 'active',
                title: 'Last active',
                cell: (session) => <Time value={session.last_active_at} />,
              },
              {
                key: 'created',
                title: 'Started',
                cell: (session) => <Time value={session.created_at} />,
                isMinor: true,
              },
              {
                key: 'end',
                title: 'Actions',
                align: 'end',
                cell: (session) => (
                  <Button
                    size="small"
                    aria-label={`End session from ${session.ip_address}`}
                    onClick={() => end.run(session.id)}
                  >
                    End
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}
