import { Checkbox, Select, TextField } from '../../ui/field.tsx'
import styles from './access.module.css'
import { commands, type PolicyDraft } from './policy-draft.ts'

interface Props {
  readonly draft: PolicyDraft
  readonly isNew: boolean
  readonly onChange: (part: Partial<PolicyDraft>) => void
}

/** For whom a policy is, and of a new one what it is for. */
export function PolicyFields({ draft, isNew, onChange }: Props) {
  return (
    <>
      {isNew && (
        <>
          <TextField label="Name" value={draft.name} onChange={(name) => onChange({ name })} maxLength={63} />
          <Select
            label="For"
            value={draft.command}
            onChange={(command) => onChange({ command })}
            choices={commands.map((command) => ({ value: command, label: command.toLowerCase() }))}
          />
        </>
      )}
      <TextField
        label="Roles, with commas"
        isCode
        placeholder="public"
        value={draft.roles}
        onChange={(roles) => onChange({ roles })}
      />
      {isNew && (
        <div className={styles.check}>
          <Checkbox
            label="restrictive"
            checked={!draft.isPermissive}
            onChange={(isRestrictive) => onChange({ isPermissive: !isRestrictive })}
          />
        </div>
      )}
    </>
  )
}
