import type { ComponentType } from 'react'

/** Sections of the navigation, in display order. */
export const sections = ['Data', 'People', 'Programs', 'Activity', 'Files', 'Push', 'Settings'] as const
export type SectionName = (typeof sections)[number]

export interface Screen {
  /** Path below `/admin`. The screen also has all paths below it: `/tables` includes `/tables/posts`. */
  readonly path: `/${string}`
  readonly title: string
  readonly section: SectionName
  /** Key that opens the screen after `g`: one unique letter. */
  readonly key?: string
  /** Further words by which the command palette finds the screen. */
  readonly words?: string
  /** Loads the screen when it is first opened. */
  readonly load: () => Promise<ComponentType>
}

export const screens: readonly Screen[] = [
  // Data: Tables
  {
    path: '/tables',
    title: 'Tables',
    section: 'Data',
    key: 't',
    words: 'rows data grid edit import export',
    load: async () => (await import('./screens/tables/tables.tsx')).TablesScreen,
  },

  // Data: Structure
  {
    path: '/structure',
    title: 'Structure',
    section: 'Data',
    key: 's',
    words: 'tables columns indexes constraints policies enums functions triggers migrations schema',
    load: async () => (await import('./screens/structure/structure.tsx')).StructureScreen,
  },

  // Data: SQL
  {
    path: '/sql',
    title: 'SQL',
    section: 'Data',
    key: 'q',
    words: 'query statement explain plan history saved',
    load: async () => (await import('./screens/sql/sql.tsx')).SqlScreen,
  },

  // Data: Access
  {
    path: '/access',
    title: 'Access',
    section: 'Data',
    key: 'a',
    words: "why can't they see it policies row-level security explain test",
    load: async () => (await import('./screens/access/access.tsx')).AccessScreen,
  },

  // Data: Search, Embeddings
  {
    path: '/search',
    title: 'Search',
    section: 'Data',
    words: 'full text fuzzy typos synonyms weights ranking facets highlight indexes vector',
    load: async () => (await import('./screens/search/search.tsx')).SearchScreen,
  },
  {
    path: '/embeddings',
    title: 'Embeddings',
    section: 'Data',
    words: 'vectors backfill provider model semantic meaning ai',
    load: async () => (await import('./screens/embeddings/embeddings.tsx')).EmbeddingsScreen,
  },

  // People: Users, Sign-in, Mail, SMS
  {
    path: '/users',
    title: 'Users',
    section: 'People',
    key: 'u',
    words: 'accounts people sessions factors passkeys impersonate invite',
    load: async () => (await import('./screens/users/users.tsx')).UsersScreen,
  },
  {
    path: '/sign-in-settings',
    title: 'Sign-in',
    section: 'People',
    words: 'auth settings providers google github oidc social login',
    load: async () => (await import('./screens/sign-in/sign-in.tsx')).SignInSettingsScreen,
  },
  {
    path: '/mail',
    title: 'Mail',
    section: 'People',
    words: 'email templates sent',
    load: async () => (await import('./screens/mail/mail.tsx')).MailScreen,
  },
  {
    path: '/sms',
    title: 'SMS',
    section: 'People',
    words: 'text messages phone',
    load: async () => (await import('./screens/sms/sms.tsx')).SmsScreen,
  },

  // People: Support
  {
    path: '/support',
    title: 'Support',
    section: 'People',
    words: 'tickets help messages answer',
    load: async () => (await import('./screens/support/support.tsx')).SupportScreen,
  },

  // Programs: Apps, API keys, OAuth clients
  {
    path: '/apps',
    title: 'Apps',
    section: 'Programs',
    words: 'rate limits tenants',
    load: async () => (await import('./screens/apps/apps.tsx')).AppsScreen,
  },
  {
    path: '/api-keys',
    title: 'API keys',
    section: 'Programs',
    key: 'k',
    words: 'tokens secrets',
    load: async () => (await import('./screens/api-keys/api-keys.tsx')).ApiKeysScreen,
  },
  {
    path: '/oauth-clients',
    title: 'OAuth clients',
    section: 'Programs',
    words: 'grants consents redirect secret',
    load: async () => (await import('./screens/oauth-clients/oauth-clients.tsx')).OAuthClientsScreen,
  },

  // Activity: Logs, Requests, Audit, Usage, Statements
  {
    path: '/logs',
    title: 'Logs',
    section: 'Activity',
    key: 'l',
    words: 'live tail errors',
    load: async () => (await import('./screens/logs/logs.tsx')).LogsScreen,
  },
  {
    path: '/requests',
    title: 'Requests',
    section: 'Activity',
    key: 'r',
    words: 'latency status errors',
    load: async () => (await import('./screens/requests/requests.tsx')).RequestsScreen,
  },
  {
    path: '/audit',
    title: 'Audit',
    section: 'Activity',
    words: 'history changes who',
    load: async () => (await import('./screens/audit/audit.tsx')).AuditScreen,
  },
  {
    path: '/usage',
    title: 'Usage',
    section: 'Activity',
    words: 'charts latency bandwidth plans limits',
    load: async () => (await import('./screens/usage/usage.tsx')).UsageScreen,
  },
  {
    path: '/statements',
    title: 'Statements',
    section: 'Activity',
    words: 'slow queries pg_stat_statements performance',
    load: async () => (await import('./screens/statements/statements.tsx')).StatementsScreen,
  },

  // Activity: Events, Webhooks, Jobs, Schedules, Materialized views, Realtime
  {
    path: '/events',
    title: 'Events',
    section: 'Activity',
    key: 'e',
    words: 'timeline changes outbox log deliveries replay',
    load: async () => (await import('./screens/events/events.tsx')).EventsScreen,
  },
  {
    path: '/webhooks',
    title: 'Webhooks',
    section: 'Activity',
    key: 'w',
    words: 'deliveries replay secret receiver',
    load: async () => (await import('./screens/webhooks/webhooks.tsx')).WebhooksScreen,
  },
  {
    path: '/jobs',
    title: 'Jobs',
    section: 'Activity',
    key: 'j',
    words: 'queue retry cancel enqueue',
    load: async () => (await import('./screens/jobs/jobs.tsx')).JobsScreen,
  },
  {
    path: '/schedules',
    title: 'Schedules',
    section: 'Activity',
    words: 'cron jobs',
    load: async () => (await import('./screens/schedules/schedules.tsx')).SchedulesScreen,
  },
  {
    path: '/matviews',
    title: 'Materialized views',
    section: 'Activity',
    words: 'refresh',
    load: async () => (await import('./screens/matviews/matviews.tsx')).MatviewsScreen,
  },
  {
    path: '/realtime',
    title: 'Realtime',
    section: 'Activity',
    words: 'streams connections subscriptions inspector websocket',
    load: async () => (await import('./screens/realtime/realtime.tsx')).RealtimeScreen,
  },

  // Activity: Advisors
  {
    path: '/advisors',
    title: 'Advisors',
    section: 'Activity',
    key: 'v',
    words: 'security indexes policies health',
    load: async () => (await import('./screens/advisors/advisors.tsx')).AdvisorsScreen,
  },

  // Files: Storage, Sites
  {
    path: '/storage',
    title: 'Storage',
    section: 'Files',
    key: 'f',
    words: 'buckets objects uploads',
    load: async () => (await import('./screens/storage/storage.tsx')).StorageScreen,
  },
  {
    path: '/sites',
    title: 'Sites',
    section: 'Files',
    words: 'deploys domains hosting',
    load: async () => (await import('./screens/sites/sites.tsx')).SitesScreen,
  },

  // Push
  {
    path: '/push',
    title: 'Push',
    section: 'Push',
    words: 'devices deliveries providers fcm apns web push',
    load: async () => (await import('./screens/push/push.tsx')).PushScreen,
  },

  // Settings
  {
    path: '/settings',
    title: 'Settings',
    section: 'Settings',
    key: ',',
    words: 'server status configuration',
    load: async () => (await import('./screens/settings/settings.tsx')).SettingsScreen,
  },
]
