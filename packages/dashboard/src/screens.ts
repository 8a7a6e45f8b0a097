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

  // Data: Structure

  // Data: SQL

  // Data: Access

  // People: Users, Sign-in, Mail, SMS

  // Programs: Apps, API keys, OAuth clients

  // Activity: Logs, Requests, Audit, Usage, Statements

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

  // Push

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
