import { type ComponentProps, Fragment, type ReactNode } from 'react'
import { Checkbox, type Choice, Select, TextArea, TextField } from '../../../ui/field.tsx'
import styles from '../structure.module.css'

/** Input of one value. */
export type Field<T> = (value: T, onChange: (value: T) => void) => ReactNode

/** Inputs of a draft by member, in display order. `false` hides an input. */
export type Fields<D> = (draft: D) => { readonly [K in keyof D]?: Field<D[K]> | false }

export const text =
  (label: string, props: Partial<ComponentProps<typeof TextField>> = {}): Field<string> =>
  (value, onChange) => <TextField {...props} {...{ label, value, onChange }} />

export const code = (label: string, props: Partial<ComponentProps<typeof TextField>> = {}) =>
  text(label, { isCode: true, ...props })

export const textArea =
  (label: string, props: Partial<ComponentProps<typeof TextArea>>): Field<string> =>
  (value, onChange) => <TextArea {...props} {...{ label, value, onChange }} />

export const choice =
  <T extends string>(
    label: string,
    choices: readonly Choice<T>[],
    props: Partial<ComponentProps<typeof Select>> = {},
  ): Field<T> =>
  (value, onChange) => <Select {...props} {...{ label, value, choices, onChange }} />

export const checkbox =
  (label: string, props: Partial<ComponentProps<typeof Checkbox>> = {}): Field<boolean> =>
  (checked, onChange) => <Checkbox {...props} {...{ label, checked, onChange }} />

/** Returns the input of a value that is itself a draft. */
export const group =
  <D extends object>(fields: Fields<D>): Field<D> =>
  (value, onChange) => <DraftFields {...{ fields, value, onChange }} />

/** Returns checkboxes side by side. */
export const checkboxes =
  <D extends object>(fields: ReturnType<Fields<D>>): Field<D> =>
  (value, onChange) => <div className={styles.choices}>{group(() => fields)(value, onChange)}</div>

interface DraftFieldsProps<D> {
  readonly fields: Fields<D>
  readonly value: D
  readonly onChange: (value: D) => void
}

export function DraftFields<D extends object>({ fields, value, onChange }: DraftFieldsProps<D>) {
  const inputs = fields(value)
  const render = <K extends keyof D>(member: K) => {
    const input: Field<D[K]> | false | undefined = inputs[member]
    return input ? input(value[member], (next) => onChange({ ...value, [member]: next })) : null
  }
  // The inputs have the names of the draft's members.
  const members = Object.keys(inputs) as (keyof D & string)[]
  return members.map((member) => <Fragment key={member}>{render(member)}</Fragment>)
}

/** Returns choices whose labels are their values. */
export const choicesOf = (values: readonly string[]): readonly Choice<string>[] =>
  values.map((value) => ({ value, label: value }))

/** Returns the text, or undefined if it is blank. */
export const unlessBlank = (typed: string) => (typed.trim() === '' ? undefined : typed)

/** Returns the names of columns as a hint lists them. */
export const namesOf = (columns: readonly { readonly name: string }[]) =>
  columns.map(({ name }) => name).join(', ')
