const safeProtocols = new Set(['http:', 'https:', 'mailto:'])

/** Returns a URL if it is safe to link to. `javascript:` and `data:` URLs would run as this page. */
export function safeAddress(text: string): string | undefined {
  try {
    const address = new URL(text)
    return safeProtocols.has(address.protocol) ? address.href : undefined
  } catch {
    return undefined
  }
}
