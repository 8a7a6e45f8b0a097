import { useAction, useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { RowActions } from '../../ui/data-table.tsx'
import { Badge, Section } from '../../ui/layout.tsx'
import { List } from '../../ui/list.tsx'
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
        <Button needs="users.act" disabled={(sessions.data?.length ?? 0) === 0} onClick={() => endAll.run()}>
          End all
        </Button>
      }
    >
      <List
        caption="Sessions"
        of={sessions}
        empty="No sessions. Each device on which the user signs in has one, and ending it signs the device out."
        columns={[
          [
            'Client',
            ({ user_agent, impersonated_by }) =>
              impersonated_by === undefined ? (
                user_agent || 'unknown'
              ) : (
                <Badge tone="warning">{impersonated_by} acts as the user</Badge>
              ),
            'cut',
          ],
          ['Address', ({ ip_address }) => ip_address],
          ['Last active', (session) => <Time value={session.last_active_at} />],
          ['Started', (session) => <Time value={session.created_at} />, 'minor'],
          [
            'Actions',
            (session) => (
              <RowActions
                of={`session from ${session.ip_address}`}
                actions={[['End', () => end.run(session.id), 'users.act']]}
              />
            ),
            'actions',
          ],
        ]}
      />
    </Section>
  )
}
