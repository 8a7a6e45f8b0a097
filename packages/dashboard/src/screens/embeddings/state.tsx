import { Badge } from '../../ui/layout.tsx'
import type { Embedding } from './api.ts'

/** Renders the most important state of an embedding. */
export function EmbeddingState({ embedding }: { readonly embedding: Embedding }) {
  const { problem, provider, isOutdated, pending, failed, lastError } = embedding
  if (problem !== null) return <Badge tone="danger">Not updated</Badge>
  if (provider?.breaker === 'open') return <Badge tone="danger">Provider unavailable</Badge>
  if (isOutdated) return <Badge tone="warning">Needs a backfill</Badge>
  if (pending > 0) return <Badge tone={lastError === null ? 'accent' : 'warning'}>In progress</Badge>
  if (failed > 0) return <Badge tone="warning">With failures</Badge>
  return <Badge tone="ok">Current</Badge>
}

const breakers = {
  closed: 'Available',
  open: 'Paused after repeated failures',
  'half-open': 'Testing with the next request',
} as const

/** Describes the provider as the responding node knows it. */
export function describeProvider({ provider }: Embedding): string {
  if (provider === null) return 'Not configured'
  const { name, breaker, retryInSeconds } = provider
  const wait = breaker === 'open' ? `, retrying in ${retryInSeconds} s` : ''
  return `${name}: ${breakers[breaker]}${wait}`
}
