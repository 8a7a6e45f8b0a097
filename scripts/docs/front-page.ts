import type { SitePage } from './page.ts'

/** Makes the first page: what Basalt is, the result of the tutorial, and the two commands. */
export function makeFrontPage(): SitePage {
  return {
    path: 'index',
    title: 'Basalt',
    description: 'Basalt turns a PostgreSQL database into a complete application backend.',
    settings: [
      'template: splash',
      'hero:',
      '  title: A PostgreSQL database as a complete backend',
      '  tagline: >-',
      '    Every table is an API with filters, search and live changes. Accounts, files, webhooks, jobs and a dashboard',
      "    are included. PostgreSQL's own row-level security decides who sees which row.",
      '  image:',
      '    file: ../../assets/tutorial.webp',
      "    alt: 'Two people share a to-do list: one adds an entry, and the other sees it at once.'",
      '  actions:',
      '    - { text: Tutorial, link: /docs/guides/tutorial, icon: right-arrow }',
      '    - { text: All guides, link: /docs/start, variant: minimal }',
    ],
    body: `\`\`\`sh
npm create basaltdb todo && cd todo && npm install
npx basalt dev
\`\`\`

The picture is the result of the [tutorial](/docs/guides/tutorial): a shared list with accounts, live changes, files and
search, in half an hour. The server, its PostgreSQL and the dashboard start with the second command, on Linux or macOS
with Node 20 or later.

- **Add it to an app:** the [typed client](/docs/guides/client) with React hooks, or plain
  [REST](/docs/guides/collections) and [GraphQL](/docs/guides/graphql).
- **Decide who sees what:** [row-level security](/docs/guides/row-level-security) and [accounts](/docs/guides/accounts).
- **Run it:** [one machine or many nodes](/docs/guides/deployment), your own PostgreSQL, [backups](/docs/guides/backup).`,
  }
}
