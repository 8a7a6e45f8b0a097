import { Link } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { userLink } from '../../links.ts'
import { Button } from '../../ui/button.tsx'
import { Notice } from '../../ui/layout.tsx'
import { Time } from '../../ui/time.tsx'
import { endImpersonation, listImpersonations } from './api.ts'

/** Lists the current impersonations. Renders nothing if there are none. */
export function Impersonations() {
  const list = useApi(['impersonations'], listImpersonations, { refetchIntervalMs: 30_000 })
  const end = useAction(endImpersonation, { invalidates: [['impersonations']], done: 'Impersonation ended.' })
  const items = list.data?.items ?? []
  if (items.length === 0) return null
  return (
    <Notice tone="warning">
      <p>Active impersonations:</p>
      <ul>
        {items.map(({ id, userId, email, reason, impersonatedBy, expiresAt }) => (
          <li key={id}>
            <Link href={userLink(userId)}>{email || userId}</Link>, by {impersonatedBy}, until{' '}
            <Time value={expiresAt} />: {reason}{' '}
            <Button
              size="small"
              aria-label={`End impersonation of ${email || userId}`}
              onClick={() => end.run(id)}
            >
              End
            </Button>
          </li>
        ))}
      </ul>
    </Notice>
  )
}
