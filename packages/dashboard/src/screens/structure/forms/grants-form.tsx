import { useState } from 'react'
import { Checkbox, Select } from '../../../ui/field.tsx'
import type { Relation } from '../api.ts'
import { useReview } from '../review/review-context.ts'
import styles from '../structure.module.css'
import { ReviewedForm } from './reviewed-form.tsx'

interface GrantsFormProps {
  readonly relation: Relation
  readonly onClose: () => void
}

const privileges = ['select', 'insert', 'update', 'delete'] as const
const roles = { authenticated: 'basalt_authenticated', anonymous: 'basalt_anonymous' } as const

export function GrantsForm({ relation: { schema, name, callers }, onClose }: GrantsFormProps) {
  const review = useReview()
  const [who, setWho] = useState<keyof typeof roles>('authenticated')
  const [chosen, setChosen] = useState<readonly string[]>(callers.authenticated)
  const submit = () =>
    review({
      title: `Privileges of ${who === 'anonymous' ? 'anyone' : 'users'} on ${name}`,
      source: { change: { kind: 'set_grants', schema, name, role: roles[who], privileges: chosen } },
      onApplied: onClose,
    })
  return (
    <ReviewedForm title={`Privileges on ${name}`} onClose={onClose} onSubmit={submit}>
      <Select
        label="Of"
        value={who}
        choices={[
          { value: 'authenticated', label: 'Signed-in users' },
          { value: 'anonymous', label: 'Requests without a token' },
        ]}
        onChange={(next) => {
          setWho(next)
          setChosen(callers[next])
        }}
      />
      <div className={styles.choices}>
        {privileges.map((privilege) => (
          <Checkbox
            key={privilege}
            label={privilege}
            checked={chosen.includes(privilege)}
            onChange={(isChosen) =>
              setChosen(privileges.filter((each) => (each === privilege ? isChosen : chosen.includes(each))))
            }
          />
        ))}
      </div>
    </ReviewedForm>
  )
}
