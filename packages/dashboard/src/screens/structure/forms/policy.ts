import { checkbox, choice, choicesOf, code, text, textArea, unlessBlank } from '../../../ui/fields.tsx'
import { splitList } from '../../../ui/split-list.ts'
import type { Policy, Relation } from '../api.ts'
import { describeForm } from './form.tsx'

const commands = ['all', 'select', 'insert', 'update', 'delete']

export const createPolicy = (relation: Relation) => describePolicy(relation)
export const changePolicy = (relation: Relation, policy: Policy) => describePolicy(relation, policy)

const describePolicy = ({ schema, name }: Relation, policy?: Policy) =>
  describeForm({
    title: policy === undefined ? `Create a policy of ${name}` : `Change ${policy.name}`,
    start: {
      own: policy?.name ?? '',
      command: policy?.command ?? 'all',
      roles: policy?.roles.join(', ') ?? 'basalt_authenticated',
      using: policy?.using ?? '',
      check: policy?.check ?? '',
      isRestrictive: policy?.isPermissive === false,
    },
    fields: ({ command }) => ({
      own: text('Name'),
      command: choice(
        'Command',
        choicesOf(commands),
        policy && {
          hint: 'PostgreSQL cannot change the command of a policy. Drop the policy and create another one.',
          disabled: true,
        },
      ),
      roles: code('Roles', {
        hint: 'basalt_authenticated: callers with a token. basalt_anonymous: callers without a token. public: all callers.',
      }),
      using:
        command !== 'insert' &&
        textArea('Visible rows', {
          hint: 'A condition, such as owner_id = basalt.user_id(). Add an index on the column.',
          isCode: true,
        }),
      check:
        command !== 'select' &&
        command !== 'delete' &&
        textArea('Accepted rows', {
          hint: 'A condition on written rows. Leave empty to use the condition above.',
          isCode: true,
        }),
      isRestrictive: checkbox('Restrictive', {
        hint: 'Restricts the rows that other policies allow. Allows no rows itself.',
        disabled: policy !== undefined,
      }),
    }),
    review({ own, command, roles, using, check, isRestrictive }) {
      if (own === '' || (using.trim() === '' && check.trim() === '')) return false
      const conditions = {
        using: using === policy?.using ? undefined : unlessBlank(using),
        check: check === policy?.check ? undefined : unlessBlank(check),
      }
      if (policy === undefined) {
        const isPermissive = isRestrictive ? false : undefined
        const members = { policy: own, command, roles: splitList(roles), isPermissive, ...conditions }
        return { title: `Add ${own} to ${name}`, change: { kind: 'create_policy', schema, name, ...members } }
      }
      return {
        title: `Change ${policy.name} of ${name}`,
        change: {
          kind: 'alter_policy',
          schema,
          name,
          policy: policy.name,
          ...conditions,
          roles: roles === policy.roles.join(', ') ? undefined : splitList(roles),
          to: own === policy.name ? undefined : own,
        },
      }
    },
  })
