/** Document and variables in the address of the page. Headers are never part of it. */
export interface LinkedDocument {
  readonly query?: string
  readonly variables?: string
}

/** Reads the document of a link. It is in the fragment, which browsers do not send to the server. */
export function readLink(fragment: string): LinkedDocument {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ''))
  const query = parameters.get('query')
  const variables = parameters.get('variables')
  return { ...(query === null ? {} : { query }), ...(variables === null ? {} : { variables }) }
}

/** Returns the fragment that links to the document; empty for an empty one. */
export function writeLink({ query, variables }: LinkedDocument): string {
  const parameters = new URLSearchParams()
  if (query?.trim()) parameters.set('query', query)
  if (variables?.trim()) parameters.set('variables', variables)
  return parameters.size === 0 ? '' : `#${parameters}`
}
