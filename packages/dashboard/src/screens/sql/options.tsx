import { Checkbox, Select, Switch } from '../../ui/field.tsx'
import { UserPicker } from '../users/user-picker.tsx'
import { changeDraft, type Draft } from './draft.ts'
import styles from './sql.module.css'

/** Renders the run options: write access, role and transaction. */
export function Options({ settings }: { readonly settings: Draft }) {
  const { mode, transaction, runAs, userId } = settings
  const isWrite = mode === 'write'
  return (
    <div className={styles.options}>
      <Switch
        label="Allow writes"
        hint={isWrite ? 'Statements can change the database.' : 'Off: statements run as a read-only role.'}
        checked={isWrite}
        onChange={(checked) => changeDraft({ mode: checked ? 'write' : 'read', transaction: 'all' })}
      />
      <Select
        label="Run as"
        value={runAs}
        choices={[
          { value: 'administrator', label: 'Administrator, all rows' },
          { value: 'user', label: 'User, with policies' },
          { value: 'anonymous', label: 'No token, with policies' },
        ]}
        onChange={(value) => changeDraft({ runAs: value, transaction: 'all' })}
      />
      {runAs === 'user' && (
        <UserPicker
          label="User"
          hint="Email, phone or id"
          value={userId}
          onChange={(id) => changeDraft({ userId: id })}
        />
      )}
      {isWrite && runAs === 'administrator' && (
        <Checkbox
          label="One transaction"
          hint="Off: each statement runs separately, as VACUUM requires."
          checked={transaction === 'all'}
          onChange={(checked) => changeDraft({ transaction: checked ? 'all' : 'each' })}
        />
      )}
    </div>
  )
}
