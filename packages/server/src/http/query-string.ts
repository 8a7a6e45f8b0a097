import { type ParsedUrlQuery, parse } from 'node:querystring'

/**
 * The parameters of a query string, each value once or as a list. A text that is not percent-encoded UTF-8 stays as it was
 * sent: with replacement characters two names could become one. By Node's parser, as the router's own takes twice as long
 * for a vector, which is kilobytes of encoded text.
 */
export function parseQuery(text: string): ParsedUrlQuery {
  if (text === '') return {}
  // Numbers of parameters are bounded by the size of the URL.
  return parse(text, '&', '=', { maxKeys: 0, decodeURIComponent: decodeOrKeep })
}

function decodeOrKeep(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
