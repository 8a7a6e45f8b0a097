const safeProtocols = new Set(['http:', 'https:', 'mailto:'])

/** The address when it may be linked to: `javascript:` and `data:` would run as this page. */
export function safeAddress(text: string): string | undefined {
  try {
    const address = new URL(text)
    return safeProtocols.has(address.protocol) ? address.href : undefined
  } catch {
    return undefined
  }
}
