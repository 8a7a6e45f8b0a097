import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import styles from './usage.module.css'

export interface Series {
  readonly label: string
  /** Custom property of the theme. */
  readonly color: `--${string}`
  readonly values: readonly (number | null)[]
  /** Dash pattern, so that lines do not differ by colour alone. */
  readonly dash?: readonly number[]
}

interface ChartProps {
  /** Text alternative of the chart. */
  readonly label: string
  /** Times in seconds since 1970. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
}

const height = 180

export function Chart({ label, times, series, format }: ChartProps) {
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = container.current
    if (element === null) return
    const colorOf = (name: Series['color']) => resolveColor(element, name)
    const draw = () => {
      const axis = {
        stroke: colorOf('--text-muted'),
        grid: { stroke: colorOf('--line'), width: 1 },
        ticks: { stroke: colorOf('--line'), width: 1 },
        font: '11px system-ui',
      }
      return new uPlot(
        {
          width: element.clientWidth,
          height,
          cursor: { y: false },
          scales: { y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.1 : 1] } },
          axes: [axis, { ...axis, size: 60, values: (_plot, values) => values.map(format) }],
          series: [
            {},
            ...series.map(({ label: name, color, dash }) => ({
              label: name,
              stroke: colorOf(color),
              width: 1.5,
              ...(dash === undefined ? {} : { dash: [...dash] }),
              value: (_plot: uPlot, value: number | null) => (value === null ? '–' : format(value)),
            })),
          ],
        },
        [[...times], ...series.map(({ values }) => [...values])],
        element,
      )
    }
    let plot = draw()
    const redraw = () => {
      plot.destroy()
      plot = draw()
    }
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    resize.observe(element)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', redraw)
    const theme = new MutationObserver(redraw)
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => {
      resize.disconnect()
      theme.disconnect()
      dark.removeEventListener('change', redraw)
      plot.destroy()
    }
  }, [times, series, format])
  return <div ref={container} className={styles.chart} role="img" aria-label={label} />
}

/** Resolves a colour for the canvas, which supports neither custom properties nor `light-dark()`. */
function resolveColor(element: HTMLElement, name: Series['color']): string {
  element.style.color = `var(${name})`
  const { color } = getComputedStyle(element)
  element.style.removeProperty('color')
  return color
}
