import { Badge } from '../../ui/layout.tsx'
import type { Embedding } from './api.ts'

/** What a person has to know first. */
export function EmbeddingState({ embedding }: { readonly embedding: Embedding }) {
  const { problem, provider, isOutdated, pending, failed, lastError } = embedding
  if (problem !== null) return <Badge tone="danger">Not kept current</Badge>
  if (provider?.breaker === 'open') return <Badge tone="danger">Provider unavailable</Badge>
  if (isOutdated) return <Badge tone="warning">Needs a backfill</Badge>
  if (pending > 0) return <Badge tone={lastError === null ? 'accent' : 'warning'}>In progress</Badge>
  if (failed > 0) return <Badge tone="warning">With failures</Badge>
  return <Badge tone="ok">Current</Badge>
}

const breakers = {
  closed: 'Asked at once',
  open: 'Not asked for a while, after failures in a row',
  'half-open': 'The next request tries it',
} as const

/** As the node that answers knows it. */
export function describeProvider({ provider }: Embedding): string {
  if (provider === null) return 'None is configured'
  const { name, breaker, retryInSeconds } = provider
  const wait = breaker === 'open' ? `; tried again in ${retryInSeconds} s` : ''
  return `${name}: ${breakers[breaker]}${wait}`
}
