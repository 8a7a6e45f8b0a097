import { createPage, escapeHtml, type Page } from '../../../lib/page.ts'

export interface OverviewFacts {
  readonly version: string
  readonly isAuthRequired: boolean
  /** Path of the dashboard. Undefined unless this listener serves it. */
  readonly dashboardPath: string | undefined
}

export function createOverviewPage({ version, isAuthRequired, dashboardPath }: OverviewFacts): Page {
  return createPage({
    title: 'Overview',
    body: `<h1>Basalt runs here</h1>
<p class="soft">Version ${escapeHtml(version)} · <span id="state" role="status">a PostgreSQL database as an application backend</span></p>
${isAuthRequired ? '' : '<p class="warn">Authentication is off (<code>auth.enabled</code>): anyone who reaches this server reads and writes every table.</p>'}
<ul class="cards">
${dashboardPath === undefined ? '' : `<li><a href="${dashboardPath}"><b>Dashboard</b> <span>See the data, change it, and see why callers see what they see.</span></a></li>`}
<li><a href="/api/docs"><b>API</b> <span>Read it, and try it out against this database.</span></a></li>
<li><a href="/docs"><b>Guides</b> <span>Collections, accounts, row-level security, realtime, production.</span></a></li>
<li><a href="/docs/errors"><b>Errors</b> <span>Every kind of error, and what to do about it.</span></a></li>
<li><a href="/api/openapi.json"><b>OpenAPI</b> <span>The same as the API page, for programs.</span></a></li>
</ul>`,
    script: `
const state = document.getElementById('state')
async function showState() {
  let text = 'the server does not answer', kind = 'bad'
  try {
    const { status, database } = await (await fetch('/health')).json()
    if (status === 'ok') { text = 'server and database work'; kind = 'good' }
    else text = status === 'stopping' ? 'the server is stopping' : 'the database is ' + database
  } catch {}
  state.textContent = text
  state.className = kind
}
showState()`,
  })
}
