/** Example of an HTTP request. Its token is a shell variable. */
export interface RequestExample {
  readonly method: string
  /** Path with its query: `/api/posts?sort=id`. */
  readonly path: string
  readonly body?: unknown
}

export function formatCurl({ method, path, body }: RequestExample, origin: string): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoteForShell(origin + path)}`,
    `  -H "Authorization: Bearer $TOKEN"`,
  ]
  if (body !== undefined)
    lines.push(`  -H 'Content-Type: application/json'`, `  -d ${quoteForShell(JSON.stringify(body))}`)
  return lines.join(' \\\n')
}

/** Quotes a text for a POSIX shell (POSIX.1-2024, 2.2.2 Single-Quotes). */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
