import { useEffect, useRef } from 'react'

/** Focus goes to what has changed, the element of the id; on the first view it stays where the browser puts it. */
export function useFocusOnNavigation(key: string | undefined, id: string): void {
  const shown = useRef(key)
  useEffect(() => {
    if (shown.current === key) return
    shown.current = key
    document.getElementById(id)?.focus({ preventScroll: true })
  }, [key, id])
}
