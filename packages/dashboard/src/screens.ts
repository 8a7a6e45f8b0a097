import type { ComponentType } from 'react'

/** Sections of the navigation, in their order. */
export const sections = ['Data', 'People', 'Programs', 'Activity', 'Files', 'Push', 'Settings'] as const
export type SectionName = (typeof sections)[number]

export interface Screen {
  /** Below `/admin`. The screen has all addresses below its own, too: `/tables` has `/tables/posts`. */
  readonly path: `/${string}`
  readonly title: string
  readonly section: SectionName
  /** After `g`, goes here. One letter, unique. */
  readonly key?: string
  /** Further words that the command palette finds it by. */
  readonly words?: string
  /** Loaded when it is first opened. */
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

  // People: Users, Sign-in, Mail, SMS

  // Programs: Apps, API keys, OAuth clients

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

  // Activity: Advisors

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
