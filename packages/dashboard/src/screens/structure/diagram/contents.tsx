import { memo } from 'react'
import { Link } from 'wouter'
import { tableAddress } from '../addresses.ts'
import type { DiagramReference } from '../api.ts'
import styles from './diagram.module.css'
import { curveOf, cut, headHeight, idOfTable, padding, rowHeight, type ShapeLayout } from './shapes.ts'

interface ContentsProps {
  readonly references: readonly DiagramReference[]
  readonly layouts: ReadonlyMap<string, ShapeLayout>
  /** Active table and its neighbours. */
  readonly near: ReadonlySet<string>
  readonly active: string | undefined
  readonly onPoint: (id: string | undefined) => void
}

/** Renders curves and tables. They are not rendered again while the diagram moves. */
export const Contents = memo(function Contents({
  references,
  layouts,
  near,
  active,
  onPoint,
}: ContentsProps) {
  return (
    <>
      {references.map((reference) => {
        const from = layouts.get(idOfTable(reference.from))
        const to = layouts.get(idOfTable(reference.to))
        if (from === undefined || to === undefined) return null
        const isNear = from.id === active || to.id === active
        return (
          <path
            key={JSON.stringify([from.id, reference.name])}
            d={curveOf(reference, from, to)}
            className={styles.reference}
            data-near={isNear}
            markerEnd="url(#diagram-one)"
          />
        )
      })}
      {[...layouts.values()].map((box) => (
        <TableBox key={box.id} box={box} isNear={near.has(box.id)} onPoint={onPoint} />
      ))}
    </>
  )
})

interface TableBoxProps {
  readonly box: ShapeLayout
  readonly isNear: boolean
  readonly onPoint: (id: string | undefined) => void
}

const TableBox = memo(function TableBox({ box, isNear, onPoint }: TableBoxProps) {
  const { x, y, width, height, title, rows, hidden } = box
  return (
    <Link
      href={tableAddress(box.table)}
      className={styles.box}
      data-near={isNear}
      tabIndex={-1}
      onPointerEnter={() => onPoint(box.id)}
      onPointerLeave={() => onPoint(undefined)}
    >
      <title>{title}</title>
      <g transform={`translate(${x} ${y})`}>
        <rect width={width} height={height} rx={4} className={styles.ground} />
        <text x={padding} y={headHeight - 9} className={styles.title}>
          {cut(title)}
        </text>
        <line x1={0} x2={width} y1={headHeight} y2={headHeight} className={styles.line} />
        {rows.map(({ name, type, isKey }, index) => (
          <g key={name} transform={`translate(0 ${headHeight + (index + 1) * rowHeight - 5})`}>
            <text x={padding} className={isKey ? styles.key : undefined}>
              {cut(name)}
            </text>
            <text x={width - padding} className={styles.type} textAnchor="end">
              {cut(type)}
            </text>
          </g>
        ))}
        {hidden > 0 && (
          <text x={padding} y={headHeight + (rows.length + 1) * rowHeight - 5} className={styles.type}>
            {hidden} more
          </text>
        )}
      </g>
    </Link>
  )
})
