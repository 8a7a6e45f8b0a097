import { useEffect, useRef } from 'react'

/** Moves the focus to the element with the id after a navigation. On the first view the browser sets the focus. */
export function useFocusOnNavigation(key: string | undefined, id: string): void {
  const shown = useRef(key)
  useEffect(() => {
    if (shown.current === key) return
    shown.current = key
    document.getElementById(id)?.focus({ preventScroll: true })
  }, [key, id])
}
