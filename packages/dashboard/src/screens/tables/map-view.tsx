import { useEffect, useRef } from 'react'
import { frameOf, type Point, shapesOf } from './geometry.ts'
import styles from './tables.module.css'

/** Draws a shape without map tiles, so that nothing is fetched. */
export function MapView({ text }: { readonly text: string }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const shapes = shapesOf(text)
  useEffect(() => {
    const element = canvas.current
    const context = element?.getContext('2d')
    const drawn = shapesOf(text)
    if (element == null || context == null || drawn === undefined) return
    const ratio = devicePixelRatio
    element.width = element.clientWidth * ratio
    element.height = element.clientHeight * ratio
    const frame = frameOf(drawn)
    const scale = Math.min(element.width / frame.width, element.height / frame.height)
    const toPixels = ([x, y]: Point): Point => [
      (x - frame.left) * scale + (element.width - frame.width * scale) / 2,
      element.height - (y - frame.bottom) * scale - (element.height - frame.height * scale) / 2,
    ]
    const colours = getComputedStyle(element)
    context.strokeStyle = colours.getPropertyValue('color')
    context.fillStyle = colours.getPropertyValue('color')
    context.lineWidth = 1.5 * ratio
    for (const { kind, points } of drawn) {
      context.beginPath()
      for (const [index, point] of points.entries()) {
        const [x, y] = toPixels(point)
        if (kind === 'dot') context.arc(x, y, 4 * ratio, 0, 2 * Math.PI)
        else if (index === 0) context.moveTo(x, y)
        else context.lineTo(x, y)
      }
      if (kind === 'dot') context.fill()
      else context.stroke()
      if (kind !== 'ring') continue
      context.globalAlpha = 0.15
      context.fill('evenodd')
      context.globalAlpha = 1
    }
  }, [text])
  if (shapes === undefined) return null
  const { left, bottom, width, height } = frameOf(shapes)
  const edges = [left, bottom, left + width, bottom + height].map((value) => value.toFixed(4)).join(', ')
  return (
    <figure>
      <canvas ref={canvas} className={styles.map} role="img" aria-label={`Shape within ${edges}`} />
      <figcaption>Within {edges}</figcaption>
    </figure>
  )
}
