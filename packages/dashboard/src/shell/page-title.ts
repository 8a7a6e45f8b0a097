import { useEffect } from 'react'
import { createStore } from '../api/store.ts'

export const pageTitle = createStore<string | undefined>(undefined)

/** Sets the window title of the view: `posts · Tables · Basalt`. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    pageTitle.set(title)
    return () => pageTitle.set(undefined)
  }, [title])
}
