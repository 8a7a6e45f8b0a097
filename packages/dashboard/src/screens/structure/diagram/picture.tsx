import { type PointerEvent, useEffect, useMemo, useRef } from 'react'
import { Button } from '../../../ui/button.tsx'
import type { Diagram } from '../api.ts'
import { Contents } from './contents.tsx'
import styles from './diagram.module.css'
import { layOut } from './layout.ts'
import { idOfTable, type ShapeLayout, shapesOf } from './shapes.ts'
import { useViewport } from './use-viewport.ts'

interface PictureProps {
  readonly diagram: Diagram
  readonly showsAll: boolean
  /** Active table, highlighted by the pointer in the list or in the diagram. */
  readonly active: string | undefined
  /** Table that the keyboard has selected in the list. The diagram centers it. */
  readonly centered: string | undefined
  readonly onPoint: (id: string | undefined) => void
}

/** Distance in pixels from which a press counts as a drag. */
const dragDistance = 4
/** Distance of one arrow key press. */
const step = 60

/** Renders the diagram. Its contents are also in the list beside it, which keyboard users use. */
export function Picture({ diagram, showsAll, active, centered, onPoint }: PictureProps) {
  const frame = useRef<HTMLDivElement>(null)
  const { viewport, zoom, pan, fit, center } = useViewport(frame)
  const { layouts, layout } = useMemo(() => layOutDiagram(diagram, showsAll), [diagram, showsAll])
  const drag = useRef<{ x: number; y: number; isMoved: boolean }>(undefined)
  // The diagram is fitted at first, and when the size of the window changes.
  useEffect(() => {
    const observer = new ResizeObserver(() => fit(layout.width, layout.height))
    if (frame.current !== null) observer.observe(frame.current)
    return () => observer.disconnect()
  }, [fit, layout])
  useEffect(() => {
    const box = centered === undefined ? undefined : layouts.get(centered)
    if (box !== undefined) center(box)
  }, [center, centered, layouts])
  const near = useMemo(() => nearTo(diagram, active), [diagram, active])

  const move = (event: PointerEvent) => {
    const from = drag.current
    if (from === undefined || event.buttons === 0) return
    const [x, y] = [event.clientX - from.x, event.clientY - from.y]
    if (!from.isMoved && Math.hypot(x, y) < dragDistance) return
    if (!from.isMoved) frame.current?.setPointerCapture(event.pointerId)
    drag.current = { x: event.clientX, y: event.clientY, isMoved: true }
    pan(x, y)
  }
  const press = (key: string): boolean => {
    if (key === '+' || key === '=') zoom(1.25)
    else if (key === '-') zoom(0.8)
    else if (key === '0') fit(layout.width, layout.height)
    else if (key === 'ArrowLeft') pan(step, 0)
    else if (key === 'ArrowRight') pan(-step, 0)
    else if (key === 'ArrowUp') pan(0, step)
    else if (key === 'ArrowDown') pan(0, -step)
    else return false
    return true
  }
  return (
    <div className={styles.picture}>
      <div
        ref={frame}
        className={styles.frame}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a movable element must be reachable by keyboard.
        tabIndex={0}
        role="application"
        aria-label="Diagram: arrow keys move it, + and - zoom, 0 shows all"
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey || event.target !== event.currentTarget) return
          if (press(event.key)) event.preventDefault()
        }}
        onPointerDown={(event) => {
          if (event.button === 0) drag.current = { x: event.clientX, y: event.clientY, isMoved: false }
        }}
        onPointerMove={move}
        onPointerCancel={() => {
          drag.current = undefined
        }}
        // This runs after the release, so that the end of a drag opens no table.
        onClickCapture={(event) => {
          if (drag.current?.isMoved === true) event.preventDefault()
          drag.current = undefined
        }}
        onDragStart={(event) => event.preventDefault()}
      >
        <svg aria-hidden="true" className={styles.svg} data-active={active !== undefined}>
          <defs>
            <marker
              id="diagram-one"
              viewBox="0 0 8 8"
              refX="8"
              refY="4"
              markerWidth="8"
              markerHeight="8"
              orient="auto"
            >
              <path d="M0 0L8 4L0 8" className={styles.arrow} />
            </marker>
          </defs>
          <g transform={`translate(${viewport.x} ${viewport.y}) scale(${viewport.scale})`}>
            <Contents
              references={diagram.references}
              layouts={layouts}
              near={near}
              active={active}
              onPoint={onPoint}
            />
          </g>
        </svg>
      </div>
      <div className={styles.zoom}>
        <Button size="small" aria-label="Zoom in" onClick={() => zoom(1.25)}>
          +
        </Button>
        <Button size="small" aria-label="Zoom out" onClick={() => zoom(0.8)}>
          −
        </Button>
        <Button size="small" onClick={() => fit(layout.width, layout.height)}>
          Show all
        </Button>
      </div>
    </div>
  )
}

function layOutDiagram({ tables, references }: Diagram, showsAll: boolean) {
  const shapes = shapesOf(tables, references, showsAll)
  const layout = layOut(
    shapes,
    references.map(({ from, to }) => ({ from: idOfTable(from), to: idOfTable(to) })),
  )
  const layouts = new Map<string, ShapeLayout>()
  for (const shape of shapes) {
    const box = layout.boxes.get(shape.id)
    if (box !== undefined) layouts.set(shape.id, { ...shape, ...box })
  }
  return { layouts, layout }
}

/** Returns the active table with its referenced and referencing tables. */
function nearTo({ references }: Diagram, active: string | undefined): ReadonlySet<string> {
  if (active === undefined) return new Set()
  const near = new Set([active])
  for (const { from, to } of references) {
    const [one, other] = [idOfTable(from), idOfTable(to)]
    if (one === active) near.add(other)
    if (other === active) near.add(one)
  }
  return near
}
