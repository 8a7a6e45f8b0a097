import { createPage, type Page } from '../../../lib/page.ts'

export const apiPagePath = '/api/docs'

/** Files of Swagger UI that the page needs, by their served name. */
export const apiPageAssets = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
} as const

/**
 * Creates the page that shows the API and tries it out. The document is loaded again when the reader
 * authorizes, and then has the tables of that token. Requests go to the origin of the page, whatever public
 * address the document names.
 *
 * @param graphqlPage path of its other tab
 */
export function createApiPage(graphqlPage?: string): Page {
  const asset = (name: keyof typeof apiPageAssets) => `${apiPagePath}/assets/${name}`
  return createPage({
    title: 'API',
    assets: {
      styles: [asset('swagger-ui.css'), `${apiPagePath}/assets/api-page.css`],
      scripts: [asset('swagger-ui-bundle.js')],
    },
    body: `<h1>API</h1>
${
  graphqlPage === undefined
    ? ''
    : `<nav class="tabs" aria-label="APIs"><a href="${apiPagePath}" aria-current="page">REST</a> <a href="${graphqlPage}">GraphQL</a></nav>
`
}<p><span id="say" role="status"></span>
<span class="soft">For programs: <a href="/api/openapi.json">/api/openapi.json</a>.</span></p>
<noscript><p>This page needs JavaScript. The document it shows is <a href="/api/openapi.json">/api/openapi.json</a>.</p></noscript>
<div id="api"></div>`,
    script: `
const ofSession = { 'x-basalt-dashboard': '1' }
const say = document.getElementById('say')
async function load(token) {
  const headers = token ? { authorization: 'Bearer ' + token } : ofSession
  let response = await fetch('/api/openapi.json', { headers })
  if (response.status === 401 && token) { say.textContent = 'This token is not accepted.'; return undefined }
  // A session in a cookie that has ended.
  if (response.status === 401) response = await fetch('/api/openapi.json', { credentials: 'omit' })
  if (!response.ok) { say.textContent = 'The server cannot answer. Reload the page in a moment.'; return undefined }
  const apiDocument = await response.json()
  apiDocument.servers = [{ url: location.origin }]
  const tables = Object.values(apiDocument.paths).filter(({ get }) => get && get.tags.some((tag) => /^table /.test(tag)) && /\\.list$/.test(get.operationId)).length
  say.textContent = tables === 1 ? 'With 1 table.' : tables > 0 ? 'With ' + tables + ' tables.'
    : token ? 'There are no tables for this token.' : 'Authorize with a token to see the tables it may use.'
  return apiDocument
}
// Swagger UI's own function reads the whole document anew for each part that is opened, which takes seconds.
// References of this document point to its components, by names that need no decoding.
async function resolveSubtree(apiDocument, path) {
  const at = (keys) => keys.reduce((value, key) => value?.[key], apiDocument)
  const resolve = (value, open) => {
    if (Array.isArray(value)) return value.map((item) => resolve(item, open))
    if (typeof value !== 'object' || value === null) return value
    if (typeof value.$ref === 'string' && !open.includes(value.$ref)) {
      return resolve(at(value.$ref.split('/').slice(1)), [...open, value.$ref])
    }
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, resolve(inner, open)]))
  }
  const spec = resolve(at(path), [])
  const shared = path[0] === 'paths' ? apiDocument.paths[path[1]]?.parameters : undefined
  if (path.length === 3 && shared) spec.parameters = [...(spec.parameters ?? []), ...resolve(shared, [])]
  return { spec, errors: [] }
}
let shown
function follow(ui, token) {
  if (token === shown) return
  shown = token
  load(token).then((apiDocument) => {
    if (apiDocument && token === shown) ui.specActions.updateSpec(JSON.stringify(apiDocument))
  })
}
async function show() {
  const spec = await load()
  if (!spec) return
  const ui = SwaggerUIBundle({
    spec,
    dom_id: '#api',
    deepLinking: true,
    tryItOutEnabled: true,
    docExpansion: 'none',
    defaultModelsExpandDepth: -1,
    validatorUrl: null,
    plugins: [{ fn: { resolveSubtree }, statePlugins: { auth: { wrapActions: {
      authorize: (authorize) => (given) => { follow(ui, given.bearer?.value); return authorize(given) },
      logout: (logout) => (names) => { follow(ui, undefined); return logout(names) },
    } } } }],
    // Where no token is given, the administrator's session in the cookie stands for one.
    requestInterceptor: (request) => {
      if (!request.headers.authorization && !request.headers.Authorization) Object.assign(request.headers, ofSession)
      return request
    },
  })
}
show()`,
  })
}

/** Style that fits Swagger UI into the page. */
export const apiPageStyle = `
.tabs { display: flex; gap: 1.25rem; margin: 0 0 1rem; border-bottom: 1px solid var(--line); }
.tabs a { padding: .35rem 0; color: var(--soft); text-decoration: none; }
.tabs a[aria-current] { color: var(--ink); font-weight: 600; box-shadow: inset 0 -2px var(--accent); }
.swagger-ui .wrapper { padding: 0; max-width: none; }
.swagger-ui .info { margin: 1rem 0; }
.swagger-ui .info .title, .swagger-ui .info .base-url,
.swagger-ui .scheme-container .schemes .schemes-server-container { display: none; }
.swagger-ui .scheme-container { background: none; box-shadow: none; padding: 0 0 1rem; margin: 0; }
@media (prefers-color-scheme: dark) {
  .swagger-ui { filter: invert(.9) hue-rotate(180deg); }
  .swagger-ui .microlight, .swagger-ui .highlight-code { filter: invert(1) hue-rotate(180deg); }
}
`
