import { Checkbox } from '../../ui/field.tsx'

/** What programs may do beside tables. */
export const actions = [
  { name: 'email:send', label: 'Send mail' },
  { name: 'sms:send', label: 'Send text messages' },
  { name: 'push:send', label: 'Send push notifications' },
] as const

interface ActionsFieldProps {
  readonly legend: string
  /** May hold others, which stay. */
  readonly value: readonly string[]
  readonly onChange: (value: readonly string[]) => void
}

/** A checkbox for each action; no scope includes any. */
export function ActionsField({ legend, value, onChange }: ActionsFieldProps) {
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
