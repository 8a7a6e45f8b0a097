import type { Action, ExplainedPolicy, PolicyEdit } from './api.ts'

/** Form state of a policy. `name` is the name of a new policy. */
export interface PolicyDraft {
  readonly name: string
  readonly command: Command
  readonly isPermissive: boolean
  /** Roles separated by commas; empty for all roles. */
  readonly roles: string
  readonly using: string
  readonly check: string
}

export const commands = ['ALL', 'SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const
type Command = (typeof commands)[number]

/** Clauses that a policy has for a command (PostgreSQL manual, CREATE POLICY). */
export const hasUsing = (command: string) => command !== 'INSERT'
export const hasCheck = (command: string) => command !== 'SELECT' && command !== 'DELETE'

export function newPolicy(action: Action): PolicyDraft {
  const command = ({ select: 'SELECT', insert: 'INSERT', update: 'UPDATE', delete: 'DELETE' } as const)[
    action
  ]
  return {
    name: 'new policy',
    command,
    isPermissive: true,
    roles: 'public',
    using: '',
    check: '',
  }
}

export const draftOf = ({
  name,
  command,
  permissive,
  roles,
  using,
  check,
}: ExplainedPolicy): PolicyDraft => ({
  ...{ name, command, isPermissive: permissive, roles: roles.join(', ') },
  using: using ?? '',
  check: check ?? '',
})

/** Returns the changes of the draft, or the whole policy if it does not exist yet. Pure. */
export function editOf(draft: PolicyDraft, present: ExplainedPolicy | undefined): PolicyEdit {
  const roles = readRoles(draft.roles)
  const before = present && draftOf(present)
  const differs = (part: 'using' | 'check') => draft[part].trim() !== '' && draft[part] !== before?.[part]
  return {
    name: draft.name,
    ...(present === undefined ? { command: draft.command, permissive: draft.isPermissive } : {}),
    ...(draft.roles === before?.roles || roles.length === 0 ? {} : { roles }),
    ...(hasUsing(draft.command) && differs('using') ? { using: draft.using } : {}),
    ...(hasCheck(draft.command) && differs('check') ? { check: draft.check } : {}),
  }
}

function readRoles(text: string): string[] {
  return text
    .split(',')
    .map((role) => role.trim())
    .filter((role) => role !== '')
}
