import { Button } from '../../ui/button.tsx'
import { countOf } from '../../ui/format.ts'
import type { useTicked } from './use-ticked.ts'

interface Props {
  readonly ticked: Pick<ReturnType<typeof useTicked>, 'keys' | 'clear'>
  /** Undefined where rows cannot be deleted. */
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
            Keep
          </Button>
        </>
      )}
      <Button size="small" onClick={ticked.clear}>
        Untick
      </Button>
    </>
  )
}
