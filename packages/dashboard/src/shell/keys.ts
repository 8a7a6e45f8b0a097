import { useEffect } from 'react'
import { useLocation } from 'wouter'
import { screens } from '../screens.ts'

export interface Bindings {
  readonly openPalette: () => void
  readonly openHelp: () => void
}

/** Time in which a second key continues a sequence, in milliseconds. */
const sequenceMs = 1500

/** Handles the keyboard shortcuts of the page. Letters do nothing while a text field has the focus or a dialog is open. */
export function useKeys({ openPalette, openHelp }: Bindings): void {
  const [, navigate] = useLocation()
  useEffect(() => {
    let sequenceUntil = 0
    function press(event: KeyboardEvent): void {
      if (event.defaultPrevented || event.isComposing) return
      if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key === 'k') {
        event.preventDefault()
        if (!isDialogOpen()) openPalette()
        return
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || isDialogOpen()) return
      // The event has the time of the key press, because the page may handle it later.
      if (event.timeStamp < sequenceUntil) {
        sequenceUntil = 0
        const path = event.key === 'h' ? '/' : screens.find((screen) => screen.key === event.key)?.path
        if (path === undefined) return
        event.preventDefault()
        navigate(path)
      } else if (event.key === 'g') sequenceUntil = event.timeStamp + sequenceMs
      else if (event.key === '?') openHelp()
      else if (event.key === '/') {
        const filter = document.querySelector<HTMLElement>('#content [data-filter]')
        if (filter === null) return
        event.preventDefault()
        filter.focus()
      }
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [navigate, openPalette, openHelp])
}

const isDialogOpen = () => document.querySelector('dialog:modal') !== null

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest('input, select, textarea, [contenteditable], [role="grid"], [role="menu"]') !== null
  )
}
