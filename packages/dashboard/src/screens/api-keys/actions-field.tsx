import { Checkbox } from '../../ui/field.tsx'

/** What programs may do beside tables. */
export const actions = [
  { name: 'email:send', label: 'Send mail' },
  { name: 'sms:send', label: 'Send text messages' },
  { name: 'push:send', label: 'Send push notifications' },
] as const

export type Action = (typeof actions)[number]['name']

interface ActionsFieldProps<Other extends string> {
  readonly legend: string
  /** May hold others, which stay. */
  readonly value: readonly (Action | Other)[]
  readonly onChange: (value: readonly (Action | Other)[]) => void
}

/** A checkbox for each action; no scope includes any. */
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
