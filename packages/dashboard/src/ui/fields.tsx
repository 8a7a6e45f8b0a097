import { type ComponentProps, Fragment, type ReactNode, useId } from 'react'
import { Checkbox, type Choice, Select, TextArea, TextField } from './field.tsx'
import styles from './fields.module.css'
import { parseObject } from './json.ts'

export interface Field<T> {
  /** Renders the input of one value. @param error error of the server in the value */
  (value: T, onChange: (value: T) => void, error?: string): ReactNode
  /** Returns false while the value is missing or wrong. The form cannot be sent then. */
  readonly isReady?: (value: T) => boolean
}

/** Inputs of a draft by member, in display order. `false` hides an input. */
export type Fields<D> = (draft: D) => { readonly [K in keyof D]?: Field<D[K]> | false }

type TextProps = Partial<ComponentProps<typeof TextField>>

/** Marks an input whose value may not be blank. */
const required = (isRequired: boolean | undefined, input: Field<string>): Field<string> =>
  isRequired === true ? Object.assign(input, { isReady: (value: string) => value.trim() !== '' }) : input

export const text = (label: string, props: TextProps = {}) =>
  required(props.required, (value, onChange, error) => (
    <TextField error={error} {...props} {...{ label, value, onChange }} />
  ))

export const code = (label: string, props: TextProps = {}) => text(label, { isCode: true, ...props })

/** Returns an input of code with suggestions. Other texts can be typed. */
export const suggested = (label: string, suggestions: readonly string[], props: TextProps = {}) =>
  required(props.required, (value, onChange, error) => (
    <SuggestedField {...props} {...{ label, suggestions, value, onChange, error }} />
  ))

export const textArea = (label: string, props: Partial<ComponentProps<typeof TextArea>> = {}) =>
  required(props.required, (value, onChange, error) => (
    <TextArea error={error} {...props} {...{ label, value, onChange }} />
  ))

/** Returns the input of a JSON object. */
export const jsonObject = (label: string, props: Partial<ComponentProps<typeof TextArea>> = {}) => {
  const isReady = (value: string) => parseObject(value) !== undefined
  const input: Field<string> = (value, onChange, error) =>
    textArea(label, { isCode: true, ...props })(
      value,
      onChange,
      value !== '' && !isReady(value) ? 'Expected a JSON object.' : error,
    )
  return Object.assign(input, { isReady })
}

export const choice =
  <T extends string>(
    label: string,
    choices: readonly Choice<T>[],
    props: Partial<ComponentProps<typeof Select>> = {},
  ): Field<T> =>
  (value, onChange, error) => <Select error={error} {...props} {...{ label, value, choices, onChange }} />

export const checkbox =
  (label: string, props: Partial<ComponentProps<typeof Checkbox>> = {}): Field<boolean> =>
  (checked, onChange) => <Checkbox {...props} {...{ label, checked, onChange }} />

/** Returns checkboxes below a legend, for a list of values. Other values of the list are kept. */
export const checklist =
  <T extends string>(legend: string, choices: readonly Choice<T>[]): Field<readonly T[]> =>
  (value, onChange) => (
    <fieldset className={styles.checklist}>
      <legend>{legend}</legend>
      {choices.map((each) => (
        <Checkbox
          key={each.value}
          label={each.label}
          checked={value.includes(each.value)}
          onChange={(isOn) =>
            onChange(isOn ? [...value, each.value] : value.filter((other) => other !== each.value))
          }
        />
      ))}
    </fieldset>
  )

/** Returns the input of a value that is itself a draft. */
export const group = <D extends object>(fields: Fields<D>): Field<D> =>
  Object.assign(
    (value: D, onChange: (value: D) => void) => <DraftFields {...{ fields, value, onChange }} />,
    { isReady: (value: D) => isComplete(fields, value) },
  )

/** Returns checkboxes side by side. */
export const checkboxes =
  <D extends object>(fields: ReturnType<Fields<D>>): Field<D> =>
  (value, onChange) => <div className={styles.choices}>{group(() => fields)(value, onChange)}</div>

interface DraftFieldsProps<D> {
  readonly fields: Fields<D>
  readonly value: D
  readonly onChange: (value: D) => void
  /** Errors of the server, by member. */
  readonly errors?: Readonly<Record<string, string>>
}

export function DraftFields<D extends object>({ fields, value, onChange, errors = {} }: DraftFieldsProps<D>) {
  const inputs = fields(value)
  const render = <K extends keyof D>(member: K) => {
    const input: Field<D[K]> | false | undefined = inputs[member]
    return input
      ? input(value[member], (next) => onChange({ ...value, [member]: next }), errors[String(member)])
      : null
  }
  // The inputs have the names of the draft's members.
  const members = Object.keys(inputs) as (keyof D & string)[]
  return members.map((member) => <Fragment key={member}>{render(member)}</Fragment>)
}

/** Returns true if every input accepts its value. */
export function isComplete<D extends object>(fields: Fields<D>, draft: D): boolean {
  const inputs = fields(draft)
  const accepts = <K extends keyof D>(member: K) => {
    const input: Field<D[K]> | false | undefined = inputs[member]
    return !input || input.isReady === undefined || input.isReady(draft[member])
  }
  return (Object.keys(inputs) as (keyof D)[]).every(accepts)
}

interface SuggestedFieldProps extends ComponentProps<typeof TextField> {
  readonly suggestions: readonly string[]
}

export function SuggestedField({ suggestions, ...rest }: SuggestedFieldProps) {
  const id = useId()
  return (
    <>
      <TextField {...rest} list={id} isCode />
      <datalist id={id}>
        {suggestions.map((suggestion) => (
          <option key={suggestion} value={suggestion} />
        ))}
      </datalist>
    </>
  )
}

/** Returns a value of a choice, with the type of all values. */
export const valueIn = <T extends string>(_choices: readonly Choice<T>[], value: NoInfer<T>): T => value

/** Returns choices whose labels are their values. */
export const choicesOf = <T extends string>(values: readonly T[]): readonly Choice<T>[] =>
  values.map((value) => ({ value, label: value }))

/** Returns the text, or undefined if it is blank. */
export const unlessBlank = (typed: string) => (typed.trim() === '' ? undefined : typed)

/** Returns the names of columns as a hint lists them. */
export const namesOf = (columns: readonly { readonly name: string }[]) =>
  columns.map(({ name }) => name).join(', ')
