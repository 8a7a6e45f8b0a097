import styles from './splitter.module.css'

interface SplitterProps {
  readonly label: string
  /** Height of the part above it, in percent of both. */
  readonly value: number
  readonly onChange: (value: number) => void
}

const least = 15
const most = 85
const step = 5

/** Renders the line between two parts of its parent. A pointer or the arrow keys move it. */
export function Splitter({ label, value, onChange }: SplitterProps) {
  const move = (to: number) => onChange(Math.min(most, Math.max(least, to)))
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule cannot be moved.
    <div
      role="separator"
      aria-label={label}
      aria-orientation="horizontal"
      aria-valuenow={Math.round(value)}
      aria-valuemin={least}
      aria-valuemax={most}
      tabIndex={0}
      className={styles.splitter}
      onKeyDown={({ key }) => {
        if (key === 'ArrowUp') move(value - step)
        if (key === 'ArrowDown') move(value + step)
      }}
      onPointerDown={({ currentTarget, pointerId }) => currentTarget.setPointerCapture(pointerId)}
      onPointerMove={({ currentTarget, pointerId, clientY }) => {
        const box = currentTarget.parentElement?.getBoundingClientRect()
        if (box === undefined || !currentTarget.hasPointerCapture(pointerId)) return
        move((100 * (clientY - box.top)) / box.height)
      }}
    />
  )
}
