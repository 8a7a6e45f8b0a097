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
  /** The table that is pointed at in the list or here. */
  readonly active: string | undefined
  /** What the list has moved to; brought into the middle. */
  readonly centered: string | undefined
  readonly onPoint: (id: string | undefined) => void
}

/** So far a pointer moves before a press is a drag. */
const dragDistance = 4
/** Of one press of an arrow key. */
const step = 60

/** Tables and their foreign keys. Everything in it stands in the list beside it, too, which is the way by keyboard. */
export function Picture({ diagram, showsAll, active, centered, onPoint }: PictureProps) {
  const frame = useRef<HTMLDivElement>(null)
  const { viewport, zoom, pan, fit, center } = useViewport(frame)
  const { placed, layout } = useMemo(() => place(diagram, showsAll), [diagram, showsAll])
  const drag = useRef<{ x: number; y: number; isMoved: boolean }>(undefined)
  // At first, and when the window or the phone is turned.
  useEffect(() => {
    const observer = new ResizeObserver(() => fit(layout.width, layout.height))
    if (frame.current !== null) observer.observe(frame.current)
    return () => observer.disconnect()
  }, [fit, layout])
  useEffect(() => {
    const box = centered === undefined ? undefined : placed.get(centered)
    if (box !== undefined) center(box)
  }, [center, centered, placed])
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
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what moves must be reachable by keyboard.
        tabIndex={0}
        role="application"
        aria-label="Diagram; arrows move it, + and - zoom, 0 shows all"
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
        // After the release: the end of a drag opens no table.
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
              placed={placed}
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

function place({ tables, references }: Diagram, showsAll: boolean) {
  const shapes = shapesOf(tables, references, showsAll)
  const layout = layOut(
    shapes,
    references.map(({ from, to }) => ({ from: idOfTable(from), to: idOfTable(to) })),
  )
  const placed = new Map<string, ShapeLayout>()
  for (const shape of shapes) {
    const box = layout.boxes.get(shape.id)
    if (box !== undefined) placed.set(shape.id, { ...shape, ...box })
  }
  return { placed, layout }
}

/** The table itself, what it refers to, and what refers to it. */
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
