import { Button } from '../../ui/button.tsx'
import { countOf } from '../../ui/format.ts'
import type { useTicked } from './use-ticked.ts'

interface Props {
  readonly ticked: Pick<ReturnType<typeof useTicked>, 'keys' | 'clear'>
  /** Stages or removes a deletion; undefined if rows cannot be deleted. */
  readonly onMarkDeleted: ((isDeleted: boolean) => void) | undefined
}

export function TickedActions({ ticked, onMarkDeleted }: Props) {
  if (ticked.keys.size === 0) return null
  return (
    <>
      <span>{countOf(ticked.keys.size, 'row')} ticked</span>
      {onMarkDeleted !== undefined && (
        <>
          <Button size="small" onClick={() => onMarkDeleted(true)}>
            Mark for deletion
          </Button>
          <Button size="small" onClick={() => onMarkDeleted(false)}>
            Cancel deletion
          </Button>
        </>
      )}
      <Button size="small" onClick={ticked.clear}>
        Clear selection
      </Button>
    </>
  )
}
