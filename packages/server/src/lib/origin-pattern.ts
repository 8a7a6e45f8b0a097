/** Function that returns true if the pattern matches the origin of a page, as its browser writes it. */
export type OriginPattern = (origin: string) => boolean

/** Schemes of pages in apps and browser extensions. */
const appScheme = /^(?:capacitor|ionic|tauri|app|[a-z]+(?:-[a-z]+)*-extension):\/\//
const appOrigin = /^[a-z-]+:\/\/(?:\*|[A-Za-z0-9._-]+(?::\d{1,5})?)$/
const subdomains = /^(https?):\/\/\*\.((?:[a-z0-9_-]+\.)+[a-z0-9_-]+|localhost)(?::(\d{1,5}))?$/i

/**
 * Parses one entry of a list of origins; undefined for an invalid one.
 * - `https://app.example.com`: that origin
 * - `https://*.example.com`: every subdomain, of one label or more, as in a Content Security Policy; not
 *   `example.com`
 * - `capacitor://localhost`, `chrome-extension://…`: that origin, character by character
 * - `moz-extension://*`: every extension, because Firefox gives each installation another name
 */
export function parseOriginPattern(text: string): OriginPattern | undefined {
  if (appScheme.test(text)) return parseAppOrigin(text)
  if (text.includes('*')) return parseSubdomains(text)
  const exact = parseOrigin(text)
  return exact === undefined ? undefined : (origin) => origin === exact
}

/**
 * Parses the scheme, host and port of a page and nothing else. Returns them as browsers write them: in lower
 * case, without the scheme's default port.
 */
export function parseOrigin(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    return undefined
  return `${url.origin}/` === url.href && !text.endsWith('/') ? url.origin : undefined
}

function parseAppOrigin(text: string): OriginPattern | undefined {
  if (!appOrigin.test(text)) return undefined
  if (!text.endsWith('://*')) return (origin) => origin === text
  const scheme = text.slice(0, -1)
  if (!scheme.endsWith('-extension://')) return undefined
  return (origin) => origin.startsWith(scheme) && appOrigin.test(origin) && !origin.endsWith('*')
}

function parseSubdomains(text: string): OriginPattern | undefined {
  const [, scheme = '', parent = '', port] = subdomains.exec(text) ?? []
  // This checks the rest, such as the range of the port, and writes it as browsers do.
  const base = parseOrigin(`${scheme}://${parent}${port === undefined ? '' : `:${port}`}`)
  if (base === undefined) return undefined
  const { protocol, host } = new URL(base)
  const escaped = host.replaceAll('.', '\\.')
  const matching = new RegExp(`^${protocol}//(?:[a-z0-9_-]+\\.)+${escaped}$`)
  return (origin) => matching.test(origin)
}
