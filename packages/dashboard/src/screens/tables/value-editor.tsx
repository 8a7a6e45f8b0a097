import { randomId } from '@basaltdb/client'
import { type ReactNode, useRef } from 'react'
import { Link } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { objectLink } from '../../links.ts'
import { Button } from '../../ui/button.tsx'
import { CodeEditor } from '../../ui/code-editor.tsx'
import { Checkbox, Field, Select, TextArea, TextField } from '../../ui/field.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { Empty, Failure, Loaded, Spinner } from '../../ui/states.tsx'
import { bucketOf } from '../storage/api.ts'
import { Preview } from '../storage/preview.tsx'
import type { ColumnInfo } from './api.ts'
import { formatHex } from './bytes.ts'
import { choicesOf, kindOf, type PickerKind } from './kinds.ts'
import { formatArray, formatRange, parseArray, parseRange, type RangeValue } from './literals.ts'
import { MapView } from './map-view.tsx'
import { pickedText, pickerValue } from './pickers.ts'
import { BytesPreview } from './preview.tsx'
import styles from './tables.module.css'

export interface ValueEditorProps {
  readonly column: ColumnInfo
  readonly label: string
  readonly text: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
  readonly placeholder?: string
  readonly isReadOnly?: boolean
  readonly onChange: (text: string) => void
}

/** Renders the editor of a value in a dialog or a form. */
export function ValueEditor(props: ValueEditorProps) {
  const { column, label, text, isReadOnly = false, error, onChange } = props
  switch (kindOf(column).editor) {
    case 'line':
      return <LineEditor {...props} />
    case 'range':
      return <RangeEditor {...props} />
    case 'list':
      return <ListEditor {...props} />
    case 'file':
      return <FileEditor {...props} />
    case 'bytes':
      return <BytesEditor {...props} />
    case 'markdown':
      return (
        <>
          <LongEditor {...props} />
          {text !== '' && <Markdown text={text} />}
        </>
      )
    case 'document':
    case 'geometry':
      return (
        <>
          {kindOf(column).editor === 'geometry' && <MapView text={text} />}
          <CodeEditor
            label={label}
            value={text}
            language="json"
            isReadOnly={isReadOnly}
            onChange={onChange}
          />
          {error !== undefined && <p role="alert">{error}</p>}
        </>
      )
    default:
      return <LongEditor {...props} />
  }
}

/** Renders a value in a form. Documents and bytes are typed as texts. @param empty label of no choice */
export function FormValue({ empty = '', ...props }: ValueEditorProps & { readonly empty?: string }) {
  const { label, hint, error, text, column, onChange } = props
  const { editor } = kindOf(column)
  if (editor === 'choice') {
    const choices = ['', ...choicesOf(column)].map((value) => ({
      value,
      label: value === '' ? empty : value,
    }))
    return <Select {...{ label, hint, error, choices, onChange }} value={text} />
  }
  const isTyped = editor === 'document' || editor === 'bytes' || editor === 'geometry'
  return isTyped ? <LongEditor {...props} /> : <ValueEditor {...props} />
}

const fieldOf = ({ label, text, hint, error, placeholder, isReadOnly, onChange }: ValueEditorProps) => ({
  ...{ label, hint, error, placeholder, value: text, readOnly: isReadOnly, isCode: true, onChange },
})

export const LongEditor = (props: ValueEditorProps) => <TextArea rows={10} {...fieldOf(props)} />

/** Renders a line of text, beside the browser's picker of a date, a time or a color. */
function LineEditor(props: ValueEditorProps) {
  const { picker } = kindOf(props.column)
  const field = <TextField {...fieldOf(props)} />
  if (picker === undefined || props.isReadOnly === true) return field
  return (
    <div className={styles.line}>
      {field}
      <Picker picker={picker} type={props.column.type} text={props.text} onPick={props.onChange} />
    </div>
  )
}

interface PickerProps extends Omit<React.ComponentProps<'input'>, 'type' | 'value' | 'onChange'> {
  readonly picker: PickerKind
  /** Type of the column. */
  readonly type: string
  readonly text: string
  readonly onPick: (text: string) => void
}

/** Renders the browser's picker. It replaces the text only by a picked value, which has fewer digits. */
export function Picker({ picker, type, text, onPick, ...rest }: PickerProps) {
  return (
    <input
      {...rest}
      type={picker}
      step={picker === 'time' || picker === 'datetime-local' ? 1 : undefined}
      className={styles.picker}
      aria-label={`Pick a ${picker === 'datetime-local' ? 'time' : picker}`}
      value={pickerValue(picker, text)}
      onChange={({ target }) => {
        if (target.value !== '') onPick(pickedText(picker, type, target.value, text))
      }}
    />
  )
}

const rangePickers = { daterange: 'date', tsrange: 'datetime-local', tstzrange: 'datetime-local' } as const

/** Edits the bounds of a range. A text that is no range is edited as it is. */
function RangeEditor(props: ValueEditorProps) {
  const { column, label, text, isReadOnly = false, onChange } = props
  const value = parseRange(text)
  if (value === undefined) return <TextField {...fieldOf(props)} />
  const set = (change: Partial<RangeValue>) => onChange(formatRange({ ...value, ...change }))
  // The name of the type is one of the keys or not.
  const picker = rangePickers[column.type as keyof typeof rangePickers] as PickerKind | undefined
  const bound = (name: string, key: 'lower' | 'upper', included: 'includesLower' | 'includesUpper') => (
    <div className={styles.line}>
      <TextField
        label={name}
        value={value[key] ?? ''}
        placeholder="unbounded"
        readOnly={isReadOnly}
        disabled={value.isEmpty}
        isCode
        onChange={(next) => set({ [key]: next === '' ? null : next })}
      />
      {picker !== undefined && !isReadOnly && !value.isEmpty && (
        <Picker
          {...{ picker, type: column.type }}
          text={value[key] ?? ''}
          onPick={(next) => set({ [key]: next })}
        />
      )}
      <Checkbox
        label="Included"
        checked={value[included]}
        disabled={isReadOnly || value.isEmpty}
        onChange={(isIncluded) => set({ [included]: isIncluded })}
      />
    </div>
  )
  return (
    <fieldset className={styles.group}>
      <legend>{label}</legend>
      {bound('From', 'lower', 'includesLower')}
      {bound('To', 'upper', 'includesUpper')}
      <Checkbox
        label="Empty range"
        checked={value.isEmpty}
        disabled={isReadOnly}
        onChange={(isEmpty) => set({ isEmpty })}
      />
      {props.error !== undefined && <p role="alert">{props.error}</p>}
    </fieldset>
  )
}

/** Maximum number of elements with a field each. */
const mostFields = 200

/** Edits the elements of an array. An array of several dimensions is edited as a text. */
function ListEditor(props: ValueEditorProps) {
  const { label, text, isReadOnly = false, onChange } = props
  const list = useRef<HTMLFieldSetElement>(null)
  const items = parseArray(text)
  if (items === undefined || items.length > mostFields) return <LongEditor {...props} />
  const set = (changed: readonly (string | null)[]) => onChange(formatArray(changed))
  const add = (index: number) => {
    set(items.toSpliced(index, 0, ''))
    requestAnimationFrame(() => list.current?.querySelectorAll<HTMLElement>('input')[index]?.focus())
  }
  return (
    <fieldset ref={list} className={styles.group}>
      <legend>{label}</legend>
      {items.length === 0 && <Empty>The array has no elements.</Empty>}
      {items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: elements may be equal, and the position identifies them.
        <div key={index} className={styles.line}>
          <TextField
            label={`Element ${index + 1}`}
            hidesLabel
            isCode
            value={item ?? ''}
            placeholder={item === null ? 'NULL' : ''}
            readOnly={isReadOnly}
            onChange={(next) => set(items.with(index, next))}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || isReadOnly) return
              event.preventDefault()
              add(index + 1)
            }}
          />
          {!isReadOnly && (
            <Button
              size="small"
              aria-label={`Remove element ${index + 1}`}
              onClick={() => set(items.toSpliced(index, 1))}
            >
              Remove
            </Button>
          )}
        </div>
      ))}
      {!isReadOnly && <Button onClick={() => add(items.length)}>Add an element</Button>}
      {props.error !== undefined && <p role="alert">{props.error}</p>}
    </fieldset>
  )
}

/** Edits the name of an object in a bucket. An upload gets a new name, so that it replaces no other file. */
function FileEditor(props: ValueEditorProps) {
  const { column, text, isReadOnly = false, onChange } = props
  const { bucket = '' } = column
  const upload = useAction((file: File) => bucketOf(bucket).upload(`${randomId()}/${file.name}`, file), {
    failure: 'view',
    onDone: ({ name }) => onChange(name),
  })
  return (
    <>
      <TextField {...fieldOf(props)} />
      {!isReadOnly && (
        <FileField label={`Upload to ${bucket}`} isDisabled={upload.isPending} onPick={upload.run} />
      )}
      {upload.isPending && <Spinner label="Uploading" />}
      {upload.error !== null && <Failure error={upload.error} />}
      {text !== '' && <StoredFile bucket={bucket} name={text} />}
    </>
  )
}

/** Shows the object of a name. */
function StoredFile({ bucket, name }: { readonly bucket: string; readonly name: string }) {
  const found = useApi(['storage', 'objects', bucket, 'named', name], async (signal) => {
    const { items } = await bucketOf(bucket).list({ prefix: name, limit: 1, skipTotal: true, signal })
    return items.find((object) => object.name === name) ?? null
  })
  return (
    <Loaded query={found}>
      {(object) =>
        object === null ? (
          <Empty>The bucket {bucket} has no object with this name.</Empty>
        ) : (
          <>
            <Link href={objectLink(bucket, name)}>Open in the storage</Link>
            <Preview object={object} />
          </>
        )
      }
    </Loaded>
  )
}

function BytesEditor({ text, isReadOnly = false, onChange }: ValueEditorProps) {
  return (
    <>
      <BytesPreview hex={text} />
      {!isReadOnly && (
        <FileField
          label="Replace with a file"
          onPick={async (file) => onChange(formatHex(new Uint8Array(await file.arrayBuffer())))}
        />
      )}
    </>
  )
}

interface FileFieldProps {
  readonly label: string
  readonly isDisabled?: boolean
  readonly onPick: (file: File) => unknown
}

function FileField({ label, isDisabled = false, onPick }: FileFieldProps) {
  return (
    <Field label={label}>
      {(attributes) => (
        <input
          {...attributes}
          type="file"
          disabled={isDisabled}
          onChange={({ target }) => target.files?.[0] !== undefined && onPick(target.files[0])}
        />
      )}
    </Field>
  )
}
