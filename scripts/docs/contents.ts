/** Group of the site's navigation, with guides by the names of their files. */
export interface Group {
  readonly label: string
  readonly guides: readonly string[]
}

/** Navigation of the site. The link check fails unless each guide is in exactly one group. */
export const groups: readonly Group[] = [
  {
    label: 'Start',
    guides: ['tutorial', 'shop', 'project', 'bring-your-database', 'dashboard', 'tables', 'glossary'],
  },
  {
    label: 'Data',
    guides: [
      'collections',
      'comments',
      'concurrent-edits',
      'row-level-security',
      'public-reads',
      'procedures',
      'functions',
      'deploying-functions',
      'graphql',
      'search',
      'vectors',
      'maps',
      'import-export',
      'sql',
      'psql',
    ],
  },
  { label: 'Clients', guides: ['client', 'generated-clients', 'realtime'] },
  {
    label: 'People',
    guides: ['accounts', 'sign-in-with', 'mfa', 'passkeys', 'keys', 'oauth-server', 'guarding-the-doors'],
  },
  {
    label: 'Files, events, messages',
    guides: ['files', 'sites', 'webhooks', 'callbacks', 'jobs', 'mail', 'push'],
  },
  {
    label: 'Operation',
    guides: [
      'deployment',
      'production',
      'doctor',
      'team',
      'advisors',
      'backup',
      'what-happened',
      'outgrowing',
      'replicas',
      'failover',
      'distributed-tables',
    ],
  },
]
