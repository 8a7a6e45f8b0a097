/** A request as a person would send it; the token is a variable of the shell. */
export interface RequestExample {
  readonly method: string
  /** With its query: `/api/posts?sort=id`. */
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

/** For a POSIX shell (POSIX.1-2024, 2.2.2 Single-Quotes). */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
