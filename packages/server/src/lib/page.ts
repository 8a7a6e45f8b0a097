import { createHash } from 'node:crypto'

/** A small page the server itself serves: no request to anywhere else, no script but its own. */
export interface Page {
  readonly html: string
  /** Allows exactly this page's style and script. */
  readonly contentSecurityPolicy: string
}

export interface PageParts {
  readonly title: string
  /** HTML; text from outside must have gone through {@link escapeHtml}. */
  readonly body: string
  readonly script?: string
}

export function createPage({ title, body, script }: PageParts): Page {
  const scriptTag = script === undefined ? '' : `<script>${script}</script>`
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} · Basalt</title>
<style>${style}</style>
</head>
<body>
<main>
${body}
</main>
${scriptTag}
</body>
</html>
`
  const policy = [
    "default-src 'none'",
    `style-src '${hashSource(style)}'`,
    `script-src ${script === undefined ? "'none'" : `'${hashSource(script)}'`}`,
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]
  return { html, contentSecurityPolicy: policy.join('; ') }
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

function hashSource(content: string): string {
  return `sha256-${createHash('sha256').update(content).digest('base64')}`
}

const style = `
:root { color-scheme: light dark; --accent: #2f6f8f; }
body { font: 1rem/1.6 system-ui, sans-serif; margin: 0; }
main { max-width: 46rem; margin: 0 auto; padding: 3rem 1.25rem; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.1rem; margin: 2rem 0 .25rem; }
code, pre, textarea { font: .9rem/1.5 ui-monospace, monospace; }
pre, textarea { width: 100%; box-sizing: border-box; padding: .75rem; border: 1px solid #8886; border-radius: .4rem;
  background: #8881; overflow: auto; }
button { font: inherit; padding: .5rem 1.1rem; border: 0; border-radius: .4rem; background: var(--accent);
  color: #fff; cursor: pointer; }
button:disabled { opacity: .5; cursor: default; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
a { color: var(--accent); }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid #8884; }
`
