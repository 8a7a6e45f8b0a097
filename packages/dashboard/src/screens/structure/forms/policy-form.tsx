import { useState } from 'react'
import { Checkbox, Select, TextArea, TextField } from '../../../ui/field.tsx'
import type { Change, Policy, Relation } from '../api.ts'
import { useReview } from '../review/review-context.ts'
import { ReviewedForm } from './reviewed-form.tsx'
import { splitList } from './split-list.ts'

interface PolicyFormProps {
  readonly relation: Relation
  /** Undefined: a new one. */
  readonly policy: Policy | undefined
  readonly onClose: () => void
}

const commands = ['all', 'select', 'insert', 'update', 'delete'] as const

export function PolicyForm({ relation: { schema, name }, policy, onClose }: PolicyFormProps) {
  const review = useReview()
  const [own, setOwn] = useState(policy?.name ?? '')
  const [command, setCommand] = useState(policy?.command ?? 'all')
  const [roles, setRoles] = useState(policy?.roles.join(', ') ?? 'basalt_authenticated')
  const [isPermissive, setPermissive] = useState(policy?.isPermissive ?? true)
  const [using, setUsing] = useState(policy?.using ?? '')
  const [check, setCheck] = useState(policy?.check ?? '')
  const of = { schema, name, policy: policy?.name ?? own }
  const conditions = {
    ...(using.trim() === '' || using === policy?.using ? {} : { using }),
    ...(check.trim() === '' || check === policy?.check ? {} : { check }),
  }
  const change: Change =
    policy === undefined
      ? {
          kind: 'create_policy',
          ...of,
          command,
          roles: splitList(roles),
          ...(isPermissive ? {} : { isPermissive }),
          ...conditions,
        }
      : {
          kind: 'alter_policy',
          ...of,
          ...conditions,
          ...(roles === policy.roles.join(', ') ? {} : { roles: splitList(roles) }),
          ...(own === policy.name ? {} : { to: own }),
        }
  const isComplete = own !== '' && (using.trim() !== '' || check.trim() !== '')
  const title = policy === undefined ? `Add ${own} to ${name}` : `Change ${policy.name} of ${name}`
  return (
    <ReviewedForm
      title={policy === undefined ? `Create a policy of ${name}` : `Change ${policy.name}`}
      onClose={onClose}
      onSubmit={isComplete ? () => review({ title, source: { change }, onApplied: onClose }) : undefined}
    >
      <TextField label="Name" value={own} onChange={setOwn} />
      <Select
        label="Command"
        {...(policy === undefined
          ? {}
          : { hint: 'PostgreSQL does not change the command of a policy: drop it, and create another one.' })}
        value={command}
        disabled={policy !== undefined}
        choices={commands.map((value) => ({ value, label: value }))}
        onChange={setCommand}
      />
      <TextField
        label="Roles"
        hint="basalt_authenticated: callers with a token. basalt_anonymous: requests without one. public: all."
        value={roles}
        onChange={setRoles}
        isCode
      />
      {command !== 'insert' && (
        <TextArea
          label="Rows it shows"
          hint="A condition, such as owner_id = basalt.user_id(). An index on the column serves it."
          value={using}
          onChange={setUsing}
          isCode
        />
      )}
      {command !== 'select' && command !== 'delete' && (
        <TextArea
          label="Rows it accepts"
          hint="Of what is written. Empty: the same condition."
          value={check}
          onChange={setCheck}
          isCode
        />
      )}
      <Checkbox
        label="Restrictive"
        hint="Narrows down what other policies show, and shows nothing by itself."
        checked={!isPermissive}
        disabled={policy !== undefined}
        onChange={(isRestrictive) => setPermissive(!isRestrictive)}
      />
    </ReviewedForm>
  )
}
