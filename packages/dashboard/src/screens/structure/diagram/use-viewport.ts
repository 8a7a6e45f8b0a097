import { type RefObject, useCallback, useEffect, useState } from 'react'

/** Visible part of the diagram. */
export interface Viewport {
  readonly x: number
  readonly y: number
  readonly scale: number
}

interface Area {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

const leastScale = 0.05
const mostScale = 2.5
const margin = 24

const bounded = (scale: number) => Math.min(mostScale, Math.max(leastScale, scale))

/** Handles zoom and pan of the diagram: by drag, by the wheel with Ctrl, and by the view. */
export function useViewport(frame: RefObject<HTMLElement | null>) {
  const [viewport, setViewport] = useState<Viewport>({ x: 0, y: 0, scale: 1 })

  const zoom = useCallback(
    (factor: number, at?: { readonly x: number; readonly y: number }) => {
      const { clientWidth = 0, clientHeight = 0 } = frame.current ?? {}
      const { x, y } = at ?? { x: clientWidth / 2, y: clientHeight / 2 }
      setViewport((before) => {
        const scale = bounded(before.scale * factor)
        const ratio = scale / before.scale
        return { scale, x: x - (x - before.x) * ratio, y: y - (y - before.y) * ratio }
      })
    },
    [frame],
  )
  const pan = useCallback((x: number, y: number) => {
    setViewport((before) => ({ ...before, x: before.x + x, y: before.y + y }))
  }, [])
  /** Fits the whole diagram into the view. */
  const fit = useCallback(
    (width: number, height: number) => {
      const { clientWidth = 0, clientHeight = 0 } = frame.current ?? {}
      if (clientWidth === 0 || width === 0 || height === 0) return
      const room = Math.min((clientWidth - 2 * margin) / width, (clientHeight - 2 * margin) / height)
      const scale = bounded(Math.min(1, room))
      setViewport({ scale, x: (clientWidth - width * scale) / 2, y: (clientHeight - height * scale) / 2 })
    },
    [frame],
  )
  /** Centers an area at a readable scale. */
  const center = useCallback(
    ({ x, y, width, height }: Area) => {
      const { clientWidth = 0, clientHeight = 0 } = frame.current ?? {}
      setViewport((before) => {
        const scale = Math.max(before.scale, 0.7)
        return {
          scale,
          x: clientWidth / 2 - (x + width / 2) * scale,
          y: clientHeight / 2 - (y + height / 2) * scale,
        }
      })
    },
    [frame],
  )

  // React registers wheel listeners as passive, so the browser would zoom the page.
  useEffect(() => {
    const element = frame.current
    const turn = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return
      event.preventDefault()
      const { left, top } = element?.getBoundingClientRect() ?? { left: 0, top: 0 }
      zoom(Math.exp(-event.deltaY / 300), { x: event.clientX - left, y: event.clientY - top })
    }
    element?.addEventListener('wheel', turn, { passive: false })
    return () => element?.removeEventListener('wheel', turn)
  }, [frame, zoom])

  return { viewport, zoom, pan, fit, center }
}
