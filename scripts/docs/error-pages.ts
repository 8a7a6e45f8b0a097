import type { ReferencedError } from '../../packages/server/src/features/operations/reference/index.ts'
import { createAnchors } from '../../packages/server/src/lib/heading-anchors.ts'
import { escapeText, type SitePage, table } from './page.ts'

/** Makes the list of errors, and a page for each error, the target of its `doc_url`. */
export function makeErrorPages(errors: readonly ReferencedError[]): SitePage[] {
  return [makeList(errors), ...errors.map((error) => makePage(error, errors))]
}

function makeList(errors: readonly ReferencedError[]): SitePage {
  const areas = [...Map.groupBy(errors, ({ area }) => area)].map(([area, listed]) => {
    const rows = listed.map(({ kind, status, message }) => [
      `[\`${kind}\`](/docs/errors/${kind})`,
      String(status),
      escapeText(message),
    ])
    return `## ${area}\n\n${table(['error', 'status', 'message'], rows)}`
  })
  return {
    path: 'errors/index',
    title: 'Errors',
    description: 'Every error of the API, with its status and what to do about it.',
    settings: ['tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 2 }'],
    body: `Every error is a JSON object. \`code\` is the HTTP status, \`message\` a sentence for people, and \`error\` the stable
name below. \`doc_url\` is the address of the page about it. Some errors have details in \`data\`.

${areas.join('\n\n')}`,
  }
}

function makePage(error: ReferencedError, errors: readonly ReferencedError[]): SitePage {
  const { kind, status, message, help, area } = error
  const example = JSON.stringify({ code: status, message, error: kind }, undefined, 2)
  const anchorOf = createAnchors()
  const neighbours = errors
    .filter((other) => other.area === area && other !== error && other.status === status)
    .slice(0, 6)
    .map((other) => `[\`${other.kind}\`](/docs/errors/${other.kind})`)
  return {
    path: `errors/${kind}`,
    title: kind,
    description: help.replaceAll('`', ''),
    settings: ['template: splash', 'tableOfContents: false', 'prev: false', 'next: false'],
    body: `${escapeText(help)}

\`\`\`json title="HTTP status ${status}"
${example}
\`\`\`

In [${area}](/docs/errors#${anchorOf(area)}).${neighbours.length === 0 ? '' : ` With the same status there: ${neighbours.join(', ')}.`}`,
  }
}
