import { useRoute } from 'wouter'
import { TicketList } from './ticket-list.tsx'
import { TicketView } from './ticket-view.tsx'

export function SupportScreen() {
  const [, params] = useRoute('/support/:id')
  return params === null ? <TicketList /> : <TicketView key={params.id} id={params.id} />
}
