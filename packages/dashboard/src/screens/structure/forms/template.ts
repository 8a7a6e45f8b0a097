import type { Choice } from '../../../ui/field.tsx'
import { choice, code, type Fields } from '../../../ui/fields.tsx'
import { readTableName } from '../../../ui/sql.ts'

/** Form state of a policy template. `through` is the `schema.table` of the team members. */
export type TemplateDraft = typeof ownerTemplate

export const ownerTemplate = {
  name: 'owner',
  column: 'owner_id',
  through: '',
  teamColumn: 'team_id',
  userColumn: 'user_id',
}

const templates: readonly Choice<string>[] = [
  { value: 'owner', label: 'Each user sees and changes their own rows' },
  { value: 'members', label: 'Members of a team see and change its rows' },
  { value: 'signed in', label: 'Every signed-in user reads, only administrators write' },
  { value: 'public', label: 'Everyone reads without signing in, only administrators write', needs: 'owner' },
  { value: 'administrators', label: 'Administrators only' },
]

/** Returns the fields of a template for a table with these columns. */
export const templateFields =
  (columns: readonly string[]): Fields<TemplateDraft> =>
  (draft) => {
    const isOfMembers = draft.name === 'members'
    const column = columns.includes(draft.column) ? draft.column : ''
    const columnChoice = choice(
      `Column with the id of the ${isOfMembers ? 'team' : 'user'}`,
      [...new Set(column === '' ? ['', ...columns] : columns)].map((value) => ({
        value,
        label: value === '' ? 'Select a column' : value,
      })),
    )
    return {
      name: choice('Access to rows', templates),
      column: (isOfMembers || draft.name === 'owner') && ((_, onChange) => columnChoice(column, onChange)),
      through: isOfMembers && code('Member table', { placeholder: 'public.member' }),
      teamColumn: isOfMembers && code('Team column of the member table'),
      userColumn: isOfMembers && code('User column of the member table'),
    }
  }

/** Returns the template in the format of the plan request. */
export const planTemplate = ({ name, column, through, teamColumn, userColumn }: TemplateDraft) => ({
  name,
  column: name === 'owner' || name === 'members' ? column : undefined,
  through: name === 'members' ? { ...readTableName(through), teamColumn, userColumn } : undefined,
})
