/** Roles of administrators, the one with most rights first. `docs/guides/team.md` describes them. */
export const administratorRoles = ['owner', 'developer', 'support', 'viewer'] as const

export type AdministratorRole = (typeof administratorRoles)[number]

interface Right {
  /** Role with the fewest rights that holds it. */
  readonly from: AdministratorRole
  /** Line of the table of rights. */
  readonly covers: string
}

/** Rights of administrators. Each administrative operation declares the one that it requires. */
export const rights = {
  owner: {
    from: 'owner',
    covers:
      'Administrators, sign-in providers, webhooks and their targets, OAuth clients, actions of API keys, changes of settings, other changes of the structure, SQL with definitions or as a user, impersonation, addresses and factors of users',
  },
  'settings.read': { from: 'developer', covers: 'Settings and the configuration' },
  'structure.write': {
    from: 'developer',
    covers:
      'Tables, columns, enums, indexes, constraints and policies by their forms, search, vector indexes, storage policies, trials of policies',
  },
  'apps.write': { from: 'developer', covers: 'Apps and API keys' },
  'content.write': {
    from: 'developer',
    covers:
      'Mail templates, buckets, sites, push, materialized views, persisted documents, mail and messages',
  },
  'rows.write': { from: 'developer', covers: 'Changes of rows and files, calls of functions' },
  'users.manage': {
    from: 'developer',
    covers: 'Creating and deleting users, their quotas and providers',
  },
  'operations.write': { from: 'developer', covers: 'Jobs, schedules, replays of webhooks, advisors' },
  'sql.write': { from: 'developer', covers: 'SQL that writes rows of the operator, as `basalt_developer`' },
  'sql.read': {
    from: 'support',
    covers: 'SQL that reads the tables of the operator, statistics of statements',
  },
  'rows.read': { from: 'support', covers: 'Rows with personal columns, files, exports' },
  'rows.view': { from: 'viewer', covers: 'Rows of tables, without columns marked `@personal`' },
  'access.explain': { from: 'support', covers: 'Explanations of access, events as a user sees them' },
  'users.read': {
    from: 'support',
    covers: 'Users with their addresses and phone numbers, their sessions, and support tickets',
  },
  'users.view': { from: 'viewer', covers: 'Users, with masked addresses and phone numbers' },
  'users.act': { from: 'support', covers: 'Disabling users, ending their sessions' },
  'tickets.write': { from: 'support', covers: 'Answers to support tickets' },
  'bodies.read': {
    from: 'support',
    covers: 'Contents of the log, events, jobs, deliveries and messages, and the audit log',
  },
  'structure.read': { from: 'viewer', covers: 'Tables, columns, policies, the API document' },
  'apps.read': { from: 'viewer', covers: 'Lists of apps, API keys and OAuth clients, without secrets' },
  'content.read': { from: 'viewer', covers: 'Lists of mail templates, buckets, sites, devices, views' },
  'operations.read': {
    from: 'viewer',
    covers: 'Home, logs, requests, events, jobs, usage, advisors, schedules and streams, without contents',
  },
  account: { from: 'viewer', covers: "One's own password, sessions, tokens and preferences" },
} as const satisfies Readonly<Record<string, Right>>

/** Right that an administrative operation requires of its caller. */
export type Permission = keyof typeof rights

export const permissions = Object.keys(rights) as Permission[]

/** Returns the roles that hold the permission. */
export function rolesWith(permission: Permission): readonly AdministratorRole[] {
  return administratorRoles.slice(0, administratorRoles.indexOf(rights[permission].from) + 1)
}

/** Returns true if the role holds the permission. */
export function holds(role: AdministratorRole, permission: Permission): boolean {
  return rolesWith(permission).includes(role)
}

/** Returns the role with fewer rights. */
export function lesserRole(one: AdministratorRole, other: AdministratorRole): AdministratorRole {
  return administratorRoles.indexOf(one) < administratorRoles.indexOf(other) ? other : one
}

/** Maximum number of rows of an export, for roles with one. */
export const mostExportedRows: Partial<Readonly<Record<AdministratorRole, number>>> = { support: 1000 }
