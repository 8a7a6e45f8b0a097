import { Checkbox, Select, TextField } from '../../ui/field.tsx'
import styles from './access.module.css'
import { commands, type PolicyDraft } from './policy-draft.ts'

interface Props {
  readonly draft: PolicyDraft
  readonly isNew: boolean
  readonly onChange: (part: Partial<PolicyDraft>) => void
}

/** Renders the roles of a policy, and the name and command of a new one. */
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
        label="Roles, separated by commas"
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
