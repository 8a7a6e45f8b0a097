import { checkbox, checkboxes, choice } from '../../../ui/fields.tsx'
import type { Relation } from '../api.ts'
import { describeForm } from './form.tsx'

const privileges = ['select', 'insert', 'update', 'delete'] as const
const mapPrivileges = <T>(map: (privilege: (typeof privileges)[number]) => T) =>
  Object.fromEntries(privileges.map((privilege) => [privilege, map(privilege)]))

export function setGrants({ schema, name, callers }: Relation) {
  const startOf = (who: keyof typeof callers) => ({
    who,
    chosen: mapPrivileges((privilege) => callers[who].includes(privilege)),
  })
  return describeForm({
    title: `Privileges on ${name}`,
    start: startOf('authenticated'),
    fields: () => ({
      who: choice<keyof typeof callers>('Callers', [
        { value: 'authenticated', label: 'Signed-in users' },
        { value: 'anonymous', label: 'Callers without a token' },
      ]),
      chosen: checkboxes(mapPrivileges((privilege) => checkbox(privilege))),
    }),
    correct: (next, previous) => (next.who === previous.who ? next : startOf(next.who)),
    review: ({ who, chosen }) => ({
      title: `Privileges of ${who === 'anonymous' ? 'anyone' : 'users'} on ${name}`,
      change: {
        kind: 'set_grants',
        schema,
        name,
        role: `basalt_${who}`,
        privileges: privileges.filter((privilege) => chosen[privilege]),
      },
    }),
  })
}
