import { createPage, escapeHtml, type Page } from '../../../lib/page.ts'
import type { BuildState } from './build.ts'

/** Creates the page that replaces the dashboard while a clone builds it, and then opens the dashboard by itself. */
export function createWaitingPage(state: BuildState): Page {
  switch (state.kind) {
    case 'building':
      return createPage({
        title: 'Dashboard',
        body: `<h1>The dashboard is being built</h1>
<p role="status">Its sources have changed. This takes a few seconds, and the page opens by itself. The API answers already.</p>`,
        script: 'setTimeout(() => location.reload(), 1000)',
      })
    case 'failed':
      return createPage({
        title: 'Dashboard',
        body: `<h1>The dashboard cannot be built</h1>
<p>The API works. After a change, <code>npm run build -w packages/dashboard</code> builds it again.</p>
<pre><code>${escapeHtml(state.output)}</code></pre>`,
      })
    case 'idle':
      return createPage({
        title: 'Dashboard',
        body: `<h1>The dashboard is not built</h1>
<p>The API works. <code>npm run build -w packages/dashboard</code> builds the dashboard; <code>npm start</code> does so
unless <code>admin.build</code> is false.</p>`,
      })
  }
}
