import type { Feature } from '../../feature.ts'
import { createPage, escapeHtml } from '../../lib/page.ts'

export interface ReferencedError {
  readonly area: string
  readonly kind: string
  readonly status: number
  readonly message: string
  readonly help: string
}

/** The page that `doc_url` of every error points at. */
export function reference(errors: readonly ReferencedError[]): Feature {
  const page = createPage({ title: 'Error reference', body: describe(errors) })
  return {
    name: 'reference',
    routes(app) {
      app.get(
        '/api/docs/errors',
        { config: { guard: 'public', operation: 'reference.errors' }, schema: { hide: true } },
        (_request, reply) =>
          reply
            .header('content-security-policy', page.contentSecurityPolicy)
            .type('text/html; charset=utf-8')
            .send(page.html),
      )
    },
  }
}

function describe(errors: readonly ReferencedError[]): string {
  const areas = Map.groupBy(errors, ({ area }) => area)
  const sections = [...areas].map(
    ([area, listed]) =>
      `<h2>${escapeHtml(area)}</h2>\n<table>\n${listed.map(describeRow).join('\n')}\n</table>`,
  )
  return `<h1>Error reference</h1>
<p>Every error is a JSON object with <code>code</code> (the HTTP status), <code>message</code>,
<code>error</code> (the stable name below) and sometimes <code>data</code>.</p>
${sections.join('\n')}`
}

function describeRow({ kind, status, message, help }: ReferencedError): string {
  const explanation = escapeHtml(help).replace(/`([^`]+)`/g, '<code>$1</code>')
  return `<tr id="${escapeHtml(kind)}"><td><code>${escapeHtml(kind)}</code></td><td>${status}</td>
<td><strong>${escapeHtml(message)}</strong><br>${explanation}</td></tr>`
}
