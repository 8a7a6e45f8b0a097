import { Badge } from '../../ui/layout.tsx'
import type { IndexStatus } from './api.ts'

/** Renders the state of the search indexes. @param status undefined for a table that was never searched or configured */
export function IndexState({ status }: { readonly status: IndexStatus | undefined }) {
  if (status === undefined) return <>none</>
  const { indexes, isIndexed, isEnabled, lastBuild } = status
  const building = indexes.find(({ state }) => state === 'building')
  if (building !== undefined) {
    return <Badge tone="accent">Building, {Math.round((building.progress ?? 0) * 100)} %</Badge>
  }
  if (isIndexed) return <Badge tone="ok">Indexed</Badge>
  if (lastBuild !== null && lastBuild.error !== null) return <Badge tone="danger">Build failed</Badge>
  if (isEnabled === false) return <Badge>Disabled</Badge>
  if (isEnabled === true || indexes.length > 0) return <Badge tone="warning">Not complete</Badge>
  return status.advice === null ? <>none</> : <Badge tone="warning">Searched without an index</Badge>
}
