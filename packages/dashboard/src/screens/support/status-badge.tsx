import { Badge, type Tone } from '../../ui/layout.tsx'
import type { TicketStatus } from './api.ts'

const tones = {
  open: 'warning',
  answered: 'ok',
  closed: 'neutral',
} as const satisfies Record<TicketStatus, Tone>

export function StatusBadge({ status }: { readonly status: TicketStatus }) {
  return <Badge tone={tones[status]}>{status}</Badge>
}
