import { Badge, type Tone } from '../../ui/layout.tsx'
import { type LiveState, plainSqlMs, viewMs } from './use-live.ts'

interface LiveBadgeProps {
  readonly state: LiveState
  /** True if streams also deliver the changes of plain SQL. */
  readonly isCaptured: boolean
}

/** Renders the state of following the rows. */
export function LiveBadge({ state, isCaptured }: LiveBadgeProps) {
  const [tone, text] = describe(state, isCaptured)
  return (
    <span role="status">
      <Badge tone={tone}>{text}</Badge>
    </span>
  )
}

function describe(state: LiveState, isCaptured: boolean): readonly [Tone, string] {
  switch (state) {
    case 'following':
      return ['ok', isCaptured ? 'Following' : `Following, plain SQL every ${plainSqlMs / 1000} s`]
    case 'reconnecting':
      return ['warning', 'Reconnecting…']
    case 'polling':
      return ['neutral', `Read every ${viewMs / 1000} s`]
    case 'stopped':
      return ['warning', 'Disconnected by an administrator']
    default:
      return ['neutral', 'Connecting…']
  }
}
