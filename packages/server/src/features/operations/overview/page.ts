import { createPage, escapeHtml, type Page } from '../../../lib/page.ts'

export interface OverviewFacts {
  readonly version: string
  readonly isAuthRequired: boolean
  /** Path of the dashboard; undefined unless this listener serves it. */
  readonly dashboardPath: string | undefined
}

const firstTable = `npx basalt sql "
  create table todo (
    id bigint generated always as identity primary key,
    owner_id uuid not null default nullif(current_setting('basalt.user_id', true), '')::uuid,
    title text not null,
    done boolean not null default false);
  alter table todo enable row level security;
  create policy own on todo using (owner_id = nullif(current_setting('basalt.user_id', true), '')::uuid)"`

export function createOverviewPage({ version, isAuthRequired, dashboardPath }: OverviewFacts): Page {
  return createPage({
    title: 'Overview',
    body: `<h1>Basalt runs here</h1>
<p class="soft">Version ${escapeHtml(version)} · <span id="state" role="status">a PostgreSQL database as an application backend</span></p>
${isAuthRequired ? '' : '<p class="warn">Authentication is off (<code>auth.enabled</code>): anyone who reaches this server reads and writes every table.</p>'}
<ul class="cards">
${dashboardPath === undefined ? '' : `<li><a href="${dashboardPath}"><b>Dashboard</b> <span>See the data, change it, and see why callers see what they see.</span></a></li>`}
<li><a href="/api/docs"><b>API</b> <span>Read it, and try it out against this database.</span></a></li>
<li><a href="/api/docs/guides"><b>Guides</b> <span>Collections, accounts, row-level security, realtime, production.</span></a></li>
<li><a href="/api/docs/errors"><b>Errors</b> <span>Every kind of error, and what to do about it.</span></a></li>
<li><a href="/api/openapi.json"><b>OpenAPI</b> <span>The same as the API page, for programs.</span></a></li>
</ul>
<section id="tables-section">
<h2>Tables</h2>
<p id="say" role="status">${isAuthRequired ? signInHint(dashboardPath) : ''}</p>
<div class="scroll" id="tables" hidden><table>
<thead><tr><th>Collection</th><th class="number">Rows, about</th><th>Who reads it</th></tr></thead>
<tbody id="rows"></tbody>
</table></div>
<section id="first" hidden>
<h3>Create the first one</h3>
<p>In the folder the server was started in. It is served at once, and each user sees their own rows only:</p>
<pre><code>${escapeHtml(firstTable)}</code></pre>
<p><a href="/api/docs/guides/collections">What can be done with it</a></p>
</section>
<section id="next" hidden>
<h3>Next</h3>
<p><a href="/api/docs">Try a request</a>, or read <a href="/api/docs/guides/row-level-security">how policies decide who sees which row</a>.</p>
</section>
</section>`,
    script: `
const element = (id) => document.getElementById(id)
const isOpen = ${String(!isAuthRequired)}
const people = isOpen ? 'Everybody' : 'Every signed-in user'

async function showState() {
  let text = 'the server does not answer', kind = 'bad'
  try {
    const { status, database } = await (await fetch('/health')).json()
    if (status === 'ok') { text = 'server and database work'; kind = 'good' }
    else text = status === 'stopping' ? 'the server is stopping' : 'the database is ' + database
  } catch {}
  element('state').textContent = text
  element('state').className = kind
}
function cell(row, text, kind) {
  const td = document.createElement('td')
  td.textContent = text
  if (kind) td.className = kind
  row.append(td)
}
function audience({ kind, isReadable, rlsEnabled, policies }) {
  if (!isOpen && !isReadable) return ['Administrators only', 'soft']
  if (isOpen) return ['Everybody: authentication is off', 'warn']
  if (kind.endsWith('view')) return [people + ', as the view allows', 'soft']
  if (!rlsEnabled) return [people + ': row-level security is off', 'warn']
  if (policies === 0) return ['No one yet: no policy', 'soft']
  return ['By ' + policies + (policies === 1 ? ' policy' : ' policies'), 'good']
}
// Further ones are found in the dashboard.
const shownTables = 500
async function showTables() {
  const response = await fetch('/api/admin/tables?limit=' + shownTables, { headers: { 'x-basalt-dashboard': '1' } })
  if ([401, 403, 404].includes(response.status)) return
  if (!response.ok) { element('say').textContent = 'The tables cannot be read now. Reload the page in a moment.'; return }
  const { items, count } = await response.json()
  element('say').textContent = items.length === 0 ? 'There are none yet.' : ''
  element('say').hidden = items.length > 0
  element('first').hidden = items.length > 0
  element('tables').hidden = element('next').hidden = items.length === 0
  for (const item of items) {
    const row = document.createElement('tr')
    cell(row, item.collection, 'code')
    cell(row, item.estimatedRows === null ? '–' : item.estimatedRows.toLocaleString(), 'number')
    cell(row, ...audience(item))
    element('rows').append(row)
  }
  if (count > items.length) {
    const row = document.createElement('tr')
    cell(row, 'and ' + (count - items.length).toLocaleString() + ' more', 'soft')
    element('rows').append(row)
  }
}
showState()
showTables().catch(() => { element('say').textContent = 'The server does not answer.' })`,
  })
}

function signInHint(dashboardPath: string | undefined): string {
  return dashboardPath === undefined
    ? 'Administrators see them.'
    : `<a href="${dashboardPath}">Sign in as administrator</a> to see them.`
}
