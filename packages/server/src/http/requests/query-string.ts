/** Values by name. A repeated name has an array. */
export type QueryParameters = Record<string, string | string[] | undefined>

/**
 * Parses a query string (URL Standard, application/x-www-form-urlencoded). A text that is not percent-encoded
 * UTF-8 stays as it was sent: with replacement characters two names could become one. Every request pays for
 * this function. Libraries take twice as long for a vector, which is kilobytes of encoded text.
 */
export function parseQuery(text: string): QueryParameters {
  const parameters: QueryParameters = Object.create(null)
  if (text === '') return parameters
  // The size of the URL bounds their number.
  for (const part of text.split('&')) {
    if (part === '') continue
    const end = part.indexOf('=')
    const name = decodeParameter(end === -1 ? part : part.slice(0, end))
    const value = end === -1 ? '' : decodeParameter(part.slice(end + 1))
    const before = parameters[name]
    if (before === undefined) parameters[name] = value
    else if (typeof before === 'string') parameters[name] = [before, value]
    else before.push(value)
  }
  return parameters
}

/** Decodes a name or a value of a query string. */
export function decodeParameter(text: string): string {
  try {
    return decodeURIComponent(text.includes('+') ? text.replaceAll('+', ' ') : text)
  } catch {
    return text
  }
}
