import { createHash } from 'node:crypto'
import { pageStyle } from './page-style.ts'

/** Page of the server itself. It sends no request elsewhere and runs only its own script, except for a {@link PageParts.widget}. */
export interface Page {
  readonly html: string
  /**
   * Policy that allows exactly this page's style and script, and the {@link PageParts.assets} of this server.
   */
  readonly contentSecurityPolicy: string
}

export interface PageParts {
  readonly title: string
  /** HTML of the body; external text must have been escaped by {@link escapeHtml}. */
  readonly body: string
  readonly script?: string
  /**
   * Name of the application that owns the page. Without it the page belongs to the server and links to its
   * other pages. A person who opens a link in an application's mail sees that application's name and nothing of
   * the server.
   */
  readonly application?: string
  /** Origins to which forms of the page may lead, beside its own. Browsers check redirects of a form, too. */
  readonly formTargets?: readonly string[]
  /** Widget of a third party, which the policy of this page alone admits. */
  readonly widget?:
    | {
        readonly script: string
        /** Hash of the script; absent if its provider changes it. */
        readonly integrity?: string
        readonly origins: readonly string[]
      }
    | undefined
  /** Files of this server that the page loads before its own script runs. */
  readonly assets?: { readonly styles: readonly string[]; readonly scripts: readonly string[] }
}

export function createPage({
  title,
  body,
  script,
  application,
  formTargets = [],
  assets,
  widget,
}: PageParts): Page {
  const styles = assets?.styles.map((path) => `<link rel="stylesheet" href="${path}">\n`).join('') ?? ''
  const scripts = assets?.scripts.map((path) => `<script src="${path}"></script>\n`).join('') ?? ''
  const scriptTag = script === undefined ? '' : `<script>${script}</script>`
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} · ${escapeHtml(application ?? 'Basalt')}</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
${styles}<style>${pageStyle}</style>
</head>
<body>
${application === undefined ? serverHeader : `<header><span class="brand">${escapeHtml(application)}</span></header>`}
<main>
${body}
</main>
${scripts}${widget === undefined ? '' : `<script src="${widget.script}"${integrityOf(widget)} async defer></script>\n`}${scriptTag}
</body>
</html>
`
  const thirdParty = widget?.origins ?? []
  const self = assets === undefined ? [] : ["'self'"]
  const policy = [
    "default-src 'none'",
    `style-src ${[...self, ...thirdParty, `'${hashSource(pageStyle)}'`].join(' ')}`,
    `script-src ${[...self, ...(widget === undefined ? [] : [widget.script]), ...thirdParty, ...(script === undefined ? [] : [`'${hashSource(script)}'`])].join(' ') || "'none'"}`,
    `img-src 'self'${assets === undefined ? '' : ' data:'}`,
    ["connect-src 'self'", ...thirdParty].join(' '),
    ...(thirdParty.length === 0 ? [] : [['frame-src', ...thirdParty].join(' ')]),
    ["form-action 'self'", ...formTargets].join(' '),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]
  return { html, contentSecurityPolicy: policy.join('; ') }
}

/** Returns the attributes that fix the content of a script (W3C, Subresource Integrity). */
function integrityOf({ integrity }: NonNullable<PageParts['widget']>): string {
  return integrity === undefined ? '' : ` integrity="${integrity}" crossorigin="anonymous"`
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/**
 * Script that sends a form once. On a second click the browser would drop the first request, and the second one
 * would find the link or the session of the page used up.
 */
export const submitOnceScript = `
addEventListener('submit', (event) => {
  if (event.defaultPrevented) return
  if (event.target.dataset.submitted) event.preventDefault()
  event.target.dataset.submitted = 'true'
})
addEventListener('pageshow', () => {
  for (const form of document.forms) delete form.dataset.submitted
})`

function hashSource(content: string): string {
  return `sha256-${createHash('sha256').update(content).digest('base64')}`
}

/** Logo with three columns of basalt, which is also the icon. */
export const logo =
  '<svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">' +
  '<path fill="#2c5a70" d="M2 13l5-3 5 3v16H2z"/>' +
  '<path fill="#3f86a6" d="M11 6l5-3 5 3v23H11z"/>' +
  '<path fill="#7fb8cf" d="M20 17l5-3 5 3v12H20z"/></svg>'

const serverHeader = `<header>
<a class="brand" href="/">${logo} Basalt</a>
<nav aria-label="Pages of this server"><a href="/api/docs">API</a> <a href="/docs">Guides</a></nav>
</header>`
