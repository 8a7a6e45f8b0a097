import { useState } from 'react'
import { TextField } from '../../ui/field.tsx'
import { checklist, type Field } from '../../ui/fields.tsx'

/** Actions of programs in addition to table access. Those of functions have a field of their own. */
const actions = [
  { value: 'email:send', label: 'Send mail (email:send)' },
  { value: 'sms:send', label: 'Send text messages (sms:send)' },
  { value: 'push:send', label: 'Send push notifications (push:send)' },
]

const prefix = 'function:'

export const noActions: readonly string[] = []

/** Renders a checkbox for each action, and a field for functions. No scope includes an action. Other scopes are left unchanged. */
export const actionsField: Field<readonly string[]> = (value, onChange) => (
  <>
    {checklist<string>('Additional actions', actions)(value, onChange)}
    <FunctionNames value={value} onChange={onChange} />
  </>
)

interface FunctionNamesProps {
  readonly value: readonly string[]
  readonly onChange: (value: readonly string[]) => void
}

function FunctionNames({ value, onChange }: FunctionNamesProps) {
  const isFunction = (name: string) => name.startsWith(prefix)
  const [typed, setTyped] = useState(() =>
    value
      .filter(isFunction)
      .map((name) => name.slice(prefix.length))
      .join(', '),
  )
  return (
    <TextField
      label="Call functions"
      hint="Names of functions, separated by commas"
      value={typed}
      onChange={(text) => {
        setTyped(text)
        const names = text.split(/[\s,]+/).filter((name) => name !== '')
        onChange([...value.filter((name) => !isFunction(name)), ...names.map((name) => prefix + name)])
      }}
      isCode
    />
  )
}
