import { type ComponentProps, type ReactNode, useId } from 'react'
import { type Need, usePermissions } from '../api/administrator.ts'
import styles from './field.module.css'

interface FieldText {
  readonly label: string
  /** Hint about the expected value. */
  readonly hint?: ReactNode
  /** Error in the value. */
  readonly error?: string | undefined
  /** True to show the label to screen readers only, for filters and cells under a heading. */
  readonly hidesLabel?: boolean
}

interface ControlAttributes {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': true | undefined
}

/** Renders label, hint and error around a control. */
export function Field({
  label,
  hint,
  error,
  hidesLabel = false,
  children,
}: FieldText & { readonly children: (attributes: ControlAttributes) => ReactNode }) {
  const id = useId()
  const described = [hint === undefined ? [] : `${id}-hint`, error === undefined ? [] : `${id}-error`].flat()
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={hidesLabel ? 'visually-hidden' : styles.label}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': described.length === 0 ? undefined : described.join(' '),
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {hint !== undefined && (
        <p id={`${id}-hint`} className={styles.hint}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} className={styles.error} role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

type TextFieldProps = FieldText &
  Omit<ComponentProps<'input'>, 'id' | 'onChange' | 'value'> & {
    readonly value: string
    readonly onChange: (value: string) => void
    /** True for names, keys and code. */
    readonly isCode?: boolean
  }

export function TextField({ label, hint, error, hidesLabel, onChange, isCode, ...rest }: TextFieldProps) {
  return (
    <Field {...{ label, hint, error }} hidesLabel={hidesLabel ?? false}>
      {(attributes) => (
        <input
          autoComplete="off"
          spellCheck={isCode === true ? false : undefined}
          {...rest}
          {...attributes}
          className={styles.control}
          data-code={isCode}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

type TextAreaProps = FieldText &
  Omit<ComponentProps<'textarea'>, 'id' | 'onChange' | 'value'> & {
    readonly value: string
    readonly onChange: (value: string) => void
    readonly isCode?: boolean
  }

export function TextArea({ label, hint, error, hidesLabel, onChange, isCode, ...rest }: TextAreaProps) {
  return (
    <Field {...{ label, hint, error }} hidesLabel={hidesLabel ?? false}>
      {(attributes) => (
        <textarea
          rows={4}
          spellCheck={isCode === true ? false : undefined}
          {...rest}
          {...attributes}
          className={styles.control}
          data-code={isCode}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

export interface Choice<T extends string> {
  readonly value: T
  readonly label: string
  readonly disabled?: boolean
  /** Permission without which the choice is not offered. */
  readonly needs?: Need
}

type SelectProps<T extends string> = FieldText &
  Omit<ComponentProps<'select'>, 'id' | 'onChange' | 'value' | 'children'> & {
    readonly value: T
    readonly choices: readonly Choice<T>[]
    readonly onChange: (value: T) => void
  }

export function Select<T extends string>({
  label,
  hint,
  error,
  hidesLabel,
  choices,
  onChange,
  ...rest
}: SelectProps<T>) {
  const may = usePermissions()
  const permitted = choices.filter(({ needs }) => needs === undefined || may(needs))
  return (
    <Field {...{ label, hint, error }} hidesLabel={hidesLabel ?? false}>
      {(attributes) => (
        <select
          {...rest}
          {...attributes}
          className={styles.control}
          // The value is one of the options.
          onChange={(event) => onChange(event.target.value as T)}
        >
          {permitted.map((choice) => (
            <option key={choice.value} value={choice.value} disabled={choice.disabled}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

type CheckboxProps = Omit<ComponentProps<'input'>, 'onChange' | 'checked' | 'type'> & {
  readonly label: ReactNode
  readonly hint?: ReactNode
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}

export function Checkbox({ label, hint, onChange, ...rest }: CheckboxProps) {
  const id = useId()
  return (
    <div className={styles.checkbox}>
      <label>
        <input
          {...rest}
          type="checkbox"
          aria-describedby={hint === undefined ? undefined : id}
          onChange={(event) => onChange(event.target.checked)}
        />
        <span>{label}</span>
      </label>
      {hint !== undefined && (
        <p id={id} className={styles.hint}>
          {hint}
        </p>
      )}
    </div>
  )
}

/** Renders a switch, for settings that take effect at once. Forms use a `Checkbox`. */
export function Switch(props: CheckboxProps) {
  return <Checkbox {...props} role="switch" className={styles.switch} />
}
