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

  // Activity: Events, Webhooks, Jobs, Schedules, Materialized views, Realtime

  // Activity: Advisors

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
