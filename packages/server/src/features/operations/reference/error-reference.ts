import { createPage, escapeHtml, type Page } from '../../../lib/page.ts'

/** Kind of error in the reference. */
export interface ReferencedError {
  readonly area: string
  readonly kind: string
  readonly status: number
  /** Public message, with `…` for variable parts. */
  readonly message: string
  readonly help: string
}

/** Creates the page that `doc_url` of every error links to. */
export function createErrorReference(errors: readonly ReferencedError[]): Page {
  return createPage({ title: 'Errors', body: describe(errors) })
}

function describe(errors: readonly ReferencedError[]): string {
  const areas = Map.groupBy(errors, ({ area }) => area)
  const sections = [...areas].map(
    ([area, listed]) =>
      `<h2>${escapeHtml(area)}</h2>\n<div class="scroll"><table>\n${listed.map(describeRow).join('\n')}\n</table></div>`,
  )
  return `<h1>Errors</h1>
<p>Every error is a JSON object with <code>code</code> (the HTTP status), <code>message</code>,
<code>error</code> (the stable name below) and sometimes <code>data</code>.</p>
${sections.join('\n')}`
}

function describeRow({ kind, status, message, help }: ReferencedError): string {
  const explanation = escapeHtml(help).replace(/`([^`]+)`/g, '<code>$1</code>')
  return `<tr id="${escapeHtml(kind)}"><td><code>${escapeHtml(kind)}</code></td><td>${status}</td>
<td><strong>${escapeHtml(message)}</strong><br>${explanation}</td></tr>`
}
