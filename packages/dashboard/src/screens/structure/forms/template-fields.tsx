import { type Choice, Select, TextField } from '../../../ui/field.tsx'
import { readTableName } from '../../../ui/sql.ts'

/** Who sees which rows, of what is usual. */
export interface TemplateDraft {
  readonly name: string
  readonly column: string
  /** `schema.table`, for members. */
  readonly through: string
  readonly teamColumn: string
  readonly userColumn: string
}

export const ownerTemplate: TemplateDraft = {
  name: 'owner',
  column: 'owner_id',
  through: '',
  teamColumn: 'team_id',
  userColumn: 'user_id',
}

const choices: readonly Choice<string>[] = [
  { value: 'owner', label: 'Each user sees and changes their own rows' },
  { value: 'members', label: 'Members of a team see and change its rows' },
  { value: 'signed in', label: 'Every signed-in user reads; only administrators write' },
  { value: 'public', label: 'Everybody reads, also without signing in; only administrators write' },
  { value: 'administrators', label: 'Administrators only' },
]

/** As the plan takes it. */
export function showTemplate(draft: TemplateDraft): Record<string, unknown> {
  return {
    name: draft.name,
    ...(draft.name === 'owner' || draft.name === 'members' ? { column: draft.column } : {}),
    ...(draft.name === 'members'
      ? {
          through: {
            ...readTableName(draft.through),
            teamColumn: draft.teamColumn,
            userColumn: draft.userColumn,
          },
        }
      : {}),
  }
}

interface TemplateFieldsProps {
  readonly value: TemplateDraft
  readonly onChange: (value: TemplateDraft) => void
  readonly columns: readonly string[]
}

export function TemplateFields({ value, onChange, columns }: TemplateFieldsProps) {
  const set = (part: Partial<TemplateDraft>) => onChange({ ...value, ...part })
  const named = [...new Set([...(columns.includes(value.column) ? [] : ['']), ...columns])]
  return (
    <>
      <Select
        label="Who sees which rows"
        value={value.name}
        choices={choices}
        onChange={(name) => set({ name })}
      />
      {(value.name === 'owner' || value.name === 'members') && (
        <Select
          label={value.name === 'owner' ? 'Column with the id of the user' : 'Column with the id of the team'}
          value={columns.includes(value.column) ? value.column : ''}
          choices={named.map((name) => ({ value: name, label: name === '' ? 'Choose a column' : name }))}
          onChange={(column) => set({ column })}
        />
      )}
      {value.name === 'members' && (
        <>
          <TextField
            label="Table of the members"
            placeholder="public.member"
            value={value.through}
            onChange={(through) => set({ through })}
            isCode
          />
          <TextField
            label="Its column with the team"
            value={value.teamColumn}
            onChange={(teamColumn) => set({ teamColumn })}
            isCode
          />
          <TextField
            label="Its column with the user"
            value={value.userColumn}
            onChange={(userColumn) => set({ userColumn })}
            isCode
          />
        </>
      )}
    </>
  )
}
