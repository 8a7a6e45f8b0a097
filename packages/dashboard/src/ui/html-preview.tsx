import { useLayoutEffect, useRef } from 'react'
import { showInert } from './inert-html.ts'

interface HtmlPreviewProps {
  readonly title: string
  readonly html: string
  readonly className: string | undefined
}

/** Shows HTML from the database in a frame in which nothing runs. */
export function HtmlPreview({ title, html, className }: HtmlPreviewProps) {
  const frame = useRef<HTMLIFrameElement>(null)
  useLayoutEffect(() => {
    if (frame.current !== null) showInert(frame.current, html)
  }, [html])
  return <iframe ref={frame} className={className} title={title} sandbox="" />
}
