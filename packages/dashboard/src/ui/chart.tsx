import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import styles from './chart.module.css'

export interface Series {
  readonly label: string
  /** Custom property of the theme. */
  readonly color: `--${string}`
  readonly values: readonly (number | null)[]
  /** Dash pattern, so that lines do not differ by colour alone. */
  readonly dash?: readonly number[]
  /** True to fill the area below the line. */
  readonly isFilled?: boolean
}

interface ChartProps {
  /** Text alternative of the chart. */
  readonly label: string
  /** Times in seconds since 1970, or values of {@link ChartProps.scale}. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  /** True without a legend, in a small height. */
  readonly isPlain?: boolean
  /** Axis of numbers or of names instead of times. Then values below zero are shown, too. */
  readonly scale?: Scale | undefined
  /** Called with the range of times that the user selects by dragging. The values are bars. */
  readonly onSelect?: (from: number, to: number) => void
}

export interface Scale {
  readonly format: (value: number) => string
  /** True for names: one series becomes bars. */
  readonly isOrdinal: boolean
}

export function Chart({ label, times, series, format, isPlain = false, scale, onSelect }: ChartProps) {
  const isSelectable = onSelect !== undefined
  const select = useRef(onSelect)
  select.current = onSelect
  const height = isSelectable ? 96 : isPlain ? 140 : scale === undefined ? 180 : 260
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = container.current
    if (element === null) return
    const colorOf = (name: Series['color']) => resolveColor(element, name)
    const bars = isSelectable
      ? uPlot.paths.bars?.({ size: [0.8, 40], align: 1 })
      : scale?.isOrdinal && series.length === 1
        ? uPlot.paths.bars?.({ size: [0.6, 80] })
        : undefined
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
          cursor: { y: false, drag: { setScale: !isSelectable } },
          hooks: {
            setSelect: [
              (plot) => {
                const { left, width } = plot.select
                if (width > 2) select.current?.(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'))
              },
            ],
          },
          legend: { show: !isPlain },
          scales: {
            x: {
              time: scale === undefined,
              // The last bar begins at the last time, and is as wide as the others.
              ...(isSelectable
                ? { range: (_plot, from, to) => [from, to + (to - from) / (times.length - 1)] }
                : {}),
            },
            ...(scale === undefined
              ? { y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.1 : 1] } }
              : {}),
          },
          ...(isPlain ? { padding: [8, 24, 0, 0] } : {}),
          axes: [
            isPlain && !isSelectable
              ? { ...axis, size: 26, values: (_plot, values) => values.map((at) => clock.format(at * 1000)) }
              : { ...axis, ...(scale && { values: (_plot, values) => values.map(scale.format) }) },
            {
              ...axis,
              size: 72,
              space: isPlain ? 26 : 30,
              values: (_plot, values) => values.map(format),
            },
          ],
          series: [
            scale === undefined
              ? {}
              : { value: (_plot, value) => (value === null ? '–' : scale.format(value)) },
            ...series.map(({ label: name, color, dash, isFilled }) => ({
              label: name,
              stroke: colorOf(color),
              width: isSelectable ? 0 : 1.5,
              ...(dash === undefined ? {} : { dash: [...dash] }),
              ...(bars === undefined ? {} : { paths: bars }),
              ...(isSelectable ? { fill: colorOf(color), points: { show: false } } : {}),
              ...(isFilled ? { fill: translucent(colorOf(color)) } : {}),
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
  }, [times, series, format, isPlain, isSelectable, height, scale])
  return <div ref={container} className={styles.chart} role="img" aria-label={label} />
}

const clock = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })

/** Resolves a colour for the canvas, which supports neither custom properties nor `light-dark()`. */
function resolveColor(element: HTMLElement, name: Series['color']): string {
  element.style.color = `var(${name})`
  const { color } = getComputedStyle(element)
  element.style.removeProperty('color')
  return color
}

/** Returns a resolved colour, `rgb(…)`, at an eighth of its opacity. */
const translucent = (color: string) => color.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.12)')
