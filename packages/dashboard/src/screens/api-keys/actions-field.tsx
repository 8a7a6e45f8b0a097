import { Checkbox } from '../../ui/field.tsx'

/** Actions of programs in addition to table access. */
export const actions = [
  { name: 'email:send', label: 'Send mail' },
  { name: 'sms:send', label: 'Send text messages' },
  { name: 'push:send', label: 'Send push notifications' },
] as const

export type Action = (typeof actions)[number]['name']

interface ActionsFieldProps<Other extends string> {
  readonly legend: string
  /** Granted actions. May contain other scopes, which are left unchanged. */
  readonly value: readonly (Action | Other)[]
  readonly onChange: (value: readonly (Action | Other)[]) => void
}

/** Renders a checkbox for each action. No scope includes an action. */
export function ActionsField<Other extends string>({ legend, value, onChange }: ActionsFieldProps<Other>) {
  return (
    <fieldset>
      <legend>{legend}</legend>
      {actions.map(({ name, label }) => (
        <Checkbox
          key={name}
          label={`${label} (${name})`}
          checked={value.includes(name)}
          onChange={(isOn) => onChange(isOn ? [...value, name] : value.filter((other) => other !== name))}
        />
      ))}
    </fieldset>
  )
}
