import type { ComponentType } from 'react'
import type { Permission } from './api/administrator.ts'
import type { IconName } from './ui/icon.tsx'

/** Groups of the navigation that can be folded, in display order. Settings has no group. */
export const groups = ['Data', 'People', 'Programs', 'Files', 'Activity'] as const
export type GroupName = (typeof groups)[number]

export interface Screen {
  /** Path below `/admin`. The screen also has all paths below it: `/tables` includes `/tables/posts`. */
  readonly path: `/${string}`
  readonly title: string
  /** Permission that the administrator needs for the screen. */
  readonly permission: Permission
  /** Permission for its changes, unless an action names another one. Undefined for a screen without changes. */
  readonly change?: Permission
  /** Entry of the navigation. Undefined for a screen that is a tab of another one. */
  readonly entry?: {
    readonly group?: GroupName
    readonly icon: IconName
    /** Title of the entry, where it is not that of its screen. */
    readonly title?: string
  }
  /** Path of the screen of which this one is a tab. */
  readonly tabOf?: `/${string}`
  /** Key that opens the screen after `g`: one unique letter. */
  readonly key?: string
  /** Further words by which the command palette finds the screen. */
  readonly words?: string
  /** Loads the screen when it is first opened. */
  readonly load: () => Promise<ComponentType>
}

export const screens: readonly Screen[] = [
  // Data
  {
    path: '/tables',
    title: 'Tables',
    permission: 'rows.view',
    change: 'rows.write',
    entry: { group: 'Data', icon: 'table' },
    key: 't',
    words: 'rows data grid edit import export',
    load: async () => (await import('./screens/tables/tables.tsx')).TablesScreen,
  },
  {
    path: '/structure',
    title: 'Structure',
    permission: 'structure.read',
    change: 'structure.write',
    entry: { group: 'Data', icon: 'structure' },
    key: 's',
    words: 'tables columns indexes constraints policies enums functions triggers migrations schema',
    load: async () => (await import('./screens/structure/structure.tsx')).StructureScreen,
  },
  {
    path: '/sql',
    title: 'SQL',
    permission: 'sql.read',
    entry: { group: 'Data', icon: 'terminal' },
    key: 'q',
    words: 'query statement explain plan history saved',
    load: async () => (await import('./screens/sql/sql.tsx')).SqlScreen,
  },
  {
    path: '/access',
    title: 'Access',
    permission: 'access.explain',
    change: 'structure.write',
    entry: { group: 'Data', icon: 'shield' },
    key: 'a',
    words: "why can't they see it policies row-level security explain test",
    load: async () => (await import('./screens/access/access.tsx')).AccessScreen,
  },
  {
    path: '/search',
    title: 'Search',
    permission: 'structure.read',
    change: 'structure.write',
    entry: { group: 'Data', icon: 'search' },
    words: 'full text fuzzy typos synonyms weights ranking facets highlight indexes vector',
    load: async () => (await import('./screens/search/search.tsx')).SearchScreen,
  },
  {
    path: '/embeddings',
    title: 'Embeddings',
    permission: 'operations.read',
    change: 'operations.write',
    tabOf: '/search',
    words: 'vectors backfill provider model semantic meaning ai',
    load: async () => (await import('./screens/embeddings/embeddings.tsx')).EmbeddingsScreen,
  },

  // People
  {
    path: '/users',
    title: 'Users',
    permission: 'users.view',
    change: 'users.manage',
    entry: { group: 'People', icon: 'users' },
    key: 'u',
    words: 'accounts people sessions factors passkeys impersonate invite',
    load: async () => (await import('./screens/users/users.tsx')).UsersScreen,
  },
  {
    path: '/sign-in-settings',
    title: 'Sign-in',
    permission: 'owner',
    change: 'owner',
    entry: { group: 'People', icon: 'signIn' },
    words: 'auth settings providers google github oidc social login',
    load: async () => (await import('./screens/sign-in/sign-in.tsx')).SignInSettingsScreen,
  },
  {
    path: '/mail',
    title: 'Mail',
    permission: 'content.read',
    change: 'content.write',
    entry: { group: 'People', icon: 'mail', title: 'Messages' },
    words: 'email templates sent',
    load: async () => (await import('./screens/mail/mail.tsx')).MailScreen,
  },
  {
    path: '/sms',
    title: 'SMS',
    permission: 'bodies.read',
    change: 'content.write',
    tabOf: '/mail',
    words: 'text messages phone',
    load: async () => (await import('./screens/sms/sms.tsx')).SmsScreen,
  },
  {
    path: '/push',
    title: 'Push',
    permission: 'content.read',
    change: 'content.write',
    tabOf: '/mail',
    words: 'devices deliveries providers fcm apns web push',
    load: async () => (await import('./screens/push/push.tsx')).PushScreen,
  },
  {
    path: '/support',
    title: 'Support',
    permission: 'users.read',
    change: 'tickets.write',
    entry: { group: 'People', icon: 'chat' },
    words: 'tickets help messages answer',
    load: async () => (await import('./screens/support/support.tsx')).SupportScreen,
  },

  // Programs
  {
    path: '/api-keys',
    title: 'API keys',
    permission: 'apps.read',
    change: 'apps.write',
    entry: { group: 'Programs', icon: 'key', title: 'Keys and apps' },
    key: 'k',
    words: 'tokens secrets',
    load: async () => (await import('./screens/api-keys/api-keys.tsx')).ApiKeysScreen,
  },
  {
    path: '/oauth-clients',
    title: 'OAuth clients',
    permission: 'apps.read',
    change: 'owner',
    tabOf: '/api-keys',
    words: 'grants consents redirect secret',
    load: async () => (await import('./screens/oauth-clients/oauth-clients.tsx')).OAuthClientsScreen,
  },
  {
    path: '/apps',
    title: 'Apps',
    permission: 'apps.read',
    change: 'apps.write',
    tabOf: '/api-keys',
    words: 'rate limits tenants',
    load: async () => (await import('./screens/apps/apps.tsx')).AppsScreen,
  },
  {
    path: '/functions',
    title: 'Functions',
    permission: 'operations.read',
    change: 'owner',
    entry: { group: 'Programs', icon: 'code' },
    key: 'n',
    words: 'code routes hooks before after jobs schedules inbound run invoke typescript',
    load: async () => (await import('./screens/functions/functions.tsx')).FunctionsScreen,
  },
  {
    path: '/functions/errors',
    title: 'Errors',
    permission: 'operations.read',
    tabOf: '/functions',
    words: 'functions stack trace source failures',
    load: async () => (await import('./screens/functions/errors.tsx')).FunctionErrorsScreen,
  },
  {
    path: '/functions/log',
    title: 'Function log',
    permission: 'bodies.read',
    tabOf: '/functions',
    words: 'functions console live tail lines',
    load: async () => (await import('./screens/functions/log.tsx')).FunctionLogScreen,
  },
  {
    path: '/functions/deploys',
    title: 'Deploys',
    permission: 'operations.read',
    change: 'owner',
    tabOf: '/functions',
    words: 'functions versions roll back live',
    load: async () => (await import('./screens/functions/deploys.tsx')).FunctionDeploysScreen,
  },
  {
    path: '/functions/secrets',
    title: 'Secrets',
    permission: 'owner',
    change: 'owner',
    tabOf: '/functions',
    words: 'functions keys environment variables passwords',
    load: async () => (await import('./screens/functions/secrets.tsx')).SecretsScreen,
  },
  {
    path: '/events',
    title: 'Events',
    permission: 'operations.read',
    change: 'operations.write',
    entry: { group: 'Programs', icon: 'bolt' },
    key: 'e',
    words: 'timeline changes outbox log deliveries replay',
    load: async () => (await import('./screens/events/events.tsx')).EventsScreen,
  },
  {
    path: '/realtime',
    title: 'Realtime',
    permission: 'operations.read',
    change: 'operations.write',
    tabOf: '/events',
    words: 'streams connections subscriptions inspector websocket',
    load: async () => (await import('./screens/realtime/realtime.tsx')).RealtimeScreen,
  },
  {
    path: '/webhooks',
    title: 'Webhooks',
    permission: 'owner',
    change: 'owner',
    entry: { group: 'Programs', icon: 'send' },
    key: 'w',
    words: 'deliveries replay secret receiver',
    load: async () => (await import('./screens/webhooks/webhooks.tsx')).WebhooksScreen,
  },
  {
    path: '/jobs',
    title: 'Jobs',
    permission: 'operations.read',
    change: 'operations.write',
    entry: { group: 'Programs', icon: 'clock' },
    key: 'j',
    words: 'queue retry cancel enqueue',
    load: async () => (await import('./screens/jobs/jobs.tsx')).JobsScreen,
  },
  {
    path: '/schedules',
    title: 'Schedules',
    permission: 'operations.read',
    change: 'operations.write',
    tabOf: '/jobs',
    words: 'cron jobs',
    load: async () => (await import('./screens/schedules/schedules.tsx')).SchedulesScreen,
  },
  {
    path: '/matviews',
    title: 'Materialized views',
    permission: 'content.read',
    change: 'content.write',
    tabOf: '/jobs',
    words: 'refresh',
    load: async () => (await import('./screens/matviews/matviews.tsx')).MatviewsScreen,
  },

  // Files
  {
    path: '/storage',
    title: 'Storage',
    permission: 'content.read',
    change: 'content.write',
    entry: { group: 'Files', icon: 'folder' },
    key: 'f',
    words: 'buckets objects uploads',
    load: async () => (await import('./screens/storage/storage.tsx')).StorageScreen,
  },
  {
    path: '/sites',
    title: 'Sites',
    permission: 'content.read',
    change: 'content.write',
    entry: { group: 'Files', icon: 'globe' },
    words: 'deploys domains hosting',
    load: async () => (await import('./screens/sites/sites.tsx')).SitesScreen,
  },

  // Activity
  {
    path: '/logs',
    title: 'Logs',
    permission: 'operations.read',
    entry: { group: 'Activity', icon: 'list' },
    key: 'l',
    words: 'live tail errors',
    load: async () => (await import('./screens/logs/logs.tsx')).LogsScreen,
  },
  {
    path: '/requests',
    title: 'Requests',
    permission: 'operations.read',
    tabOf: '/logs',
    key: 'r',
    words: 'latency status errors',
    load: async () => (await import('./screens/requests/requests.tsx')).RequestsScreen,
  },
  {
    path: '/audit',
    title: 'Audit',
    permission: 'bodies.read',
    tabOf: '/logs',
    words: 'history changes who',
    load: async () => (await import('./screens/audit/audit.tsx')).AuditScreen,
  },
  {
    path: '/usage',
    title: 'Usage',
    permission: 'operations.read',
    change: 'apps.write',
    entry: { group: 'Activity', icon: 'chart' },
    words: 'charts latency bandwidth plans limits',
    load: async () => (await import('./screens/usage/usage.tsx')).UsageScreen,
  },
  {
    path: '/statements',
    title: 'Statements',
    permission: 'sql.read',
    tabOf: '/usage',
    words: 'slow queries pg_stat_statements performance',
    load: async () => (await import('./screens/statements/statements.tsx')).StatementsScreen,
  },
  {
    path: '/advisors',
    title: 'Advisors',
    permission: 'operations.read',
    change: 'operations.write',
    entry: { group: 'Activity', icon: 'bulb' },
    key: 'v',
    words: 'security indexes policies health',
    load: async () => (await import('./screens/advisors/advisors.tsx')).AdvisorsScreen,
  },

  {
    path: '/settings',
    title: 'Settings',
    permission: 'settings.read',
    change: 'owner',
    entry: { icon: 'sliders' },
    key: ',',
    words: 'server status configuration',
    load: async () => (await import('./screens/settings/settings.tsx')).SettingsScreen,
  },
  {
    path: '/administrators',
    title: 'Administrators',
    permission: 'owner',
    change: 'owner',
    tabOf: '/settings',
    words: 'team roles invite owner developer support viewer',
    load: async () => (await import('./screens/administrators/administrators.tsx')).AdministratorsScreen,
  },
]
