import { useEffect } from 'react'
import { createStore } from '../api/store.ts'

/** Action of the view, for the command palette. */
export interface ScreenAction {
  readonly title: string
  readonly run: () => void
}

export const screenActions = createStore<readonly ScreenAction[]>([])

/** Adds actions to the command palette while the view is shown. Pass the same array while nothing changes. */
export function useScreenActions(actions: readonly ScreenAction[]): void {
  useEffect(() => {
    screenActions.set([...screenActions.get(), ...actions])
    return () => screenActions.set(screenActions.get().filter((action) => !actions.includes(action)))
  }, [actions])
}
