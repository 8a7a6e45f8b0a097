import { type Screen, screens } from '../screens.ts'

/** Returns true if a path is that of a screen or below it. */
export function isWithin(path: string, screenPath: string): boolean {
  return path === screenPath || path.startsWith(`${screenPath}/`)
}

/** Returns a screen of the navigation and the screens that are its tabs; for a tab, all of its row. */
export function tabsOf({ path, tabOf }: Screen): readonly Screen[] {
  const first = tabOf ?? path
  return screens.filter((screen) => screen.path === first || screen.tabOf === first)
}

/** Returns the screen of a path: of several screens, the one with the longest path. */
export function screenOf(path: string): Screen | undefined {
  return screens
    .filter((screen) => isWithin(path, screen.path))
    .reduce<Screen | undefined>(
      (longest, screen) =>
        longest !== undefined && longest.path.length >= screen.path.length ? longest : screen,
      undefined,
    )
}
