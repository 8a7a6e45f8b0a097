import { basePath } from '../base-path.ts'

export type Theme = 'system' | 'light' | 'dark'

const cookie = 'basalt-theme'
const aYear = 365 * 24 * 60 * 60

/** Returns the theme chosen in this browser, or that of the system. */
export function chosenTheme(): Theme {
  const value = document.cookie
    .split('; ')
    .find((pair) => pair.startsWith(`${cookie}=`))
    ?.slice(cookie.length + 1)
  return value === 'light' || value === 'dark' ? value : 'system'
}

export function chooseTheme(theme: Theme): void {
  const age = theme === 'system' ? 0 : aYear
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs HTTPS.
  document.cookie = `${cookie}=${theme}; Path=${basePath}; SameSite=Strict; Max-Age=${age}`
  applyTheme(theme)
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
