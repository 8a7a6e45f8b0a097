import { basePath } from '../base-path.ts'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const cookie = 'basalt-theme'
const aYear = 365 * 24 * 60 * 60

/** Returns the theme that this browser applied last, for the time until the preferences are loaded. */
export function lastTheme(): Theme {
  const value = document.cookie
    .split('; ')
    .find((pair) => pair.startsWith(`${cookie}=`))
    ?.slice(cookie.length + 1)
  return value === 'light' || value === 'dark' ? value : 'system'
}

/** Applies a theme, and keeps it for the next start of the page in this browser. */
export function applyTheme(theme: Theme): void {
  const age = theme === 'system' ? 0 : aYear
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs HTTPS.
  document.cookie = `${cookie}=${theme}; Path=${basePath}; SameSite=Strict; Max-Age=${age}`
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
