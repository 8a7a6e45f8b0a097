import { useEffect, useState } from 'react'
import { inSession } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { CodeEditor } from '../../ui/code-editor.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field, TextArea } from '../../ui/field.tsx'
import { Failure, Spinner } from '../../ui/states.tsx'
import { useDiscardConfirmation } from '../../ui/use-discard-confirmation.tsx'
import { type ColumnInfo, readCell } from './api.ts'
import { formatHex } from './bytes.ts'
import { editorKind, faultOf } from './kinds.ts'
import { MapView } from './map-view.tsx'
import { BytesPreview } from './preview.tsx'

interface ValueDialogProps {
  readonly table: string
  /** Id of the row; undefined for a row that is not written yet. */
  readonly rowId: string | undefined
  readonly column: ColumnInfo
  /** Value in the grid; undefined if it is cut and the whole value has to be read. */
  readonly value: string | null | undefined
  readonly isReadOnly: boolean
  readonly onCommit: (value: string | null) => void
  readonly onClose: () => void
}

/**
 * Maximum length of a text in a textarea, in characters. A textarea lays out the whole text after each key press, which takes
 * seconds for one megabyte.
 */
const textAreaCharacters = 50_000

/** Edits a value that does not fit into a cell. The whole value is read when the dialog opens. */
export function ValueDialog(props: ValueDialogProps) {
  const { table, rowId, column, value, onClose } = props
  const [whole, setWhole] = useState<
    { readonly value: string | null } | { readonly error: unknown } | undefined
  >(value === undefined ? undefined : { value })
  useEffect(() => {
    if (value !== undefined || rowId === undefined) return
    const controller = new AbortController()
    inSession(() => readCell(table, rowId, column.name, controller.signal), controller.signal).then(
      (read) => setWhole({ value: read }),
      (error: unknown) => {
        if (!controller.signal.aborted) setWhole({ error })
      },
    )
    return () => controller.abort()
  }, [table, rowId, column.name, value])
  if (whole === undefined || 'error' in whole) {
    return (
      <Dialog title={column.name} isOpen onClose={onClose} size="wide">
        {whole === undefined ? <Spinner label="Loading the value" /> : <Failure error={whole.error} />}
      </Dialog>
    )
  }
  return <OpenValue {...props} whole={whole.value} />
}

function OpenValue({
  column,
  whole,
  isReadOnly,
  onCommit,
  onClose,
}: ValueDialogProps & { readonly whole: string | null }) {
  const kind = editorKind(column)
  const [text, setText] = useState(kind === 'document' ? indented(whole ?? '') : (whole ?? ''))
  const isText = kind === 'line' || kind === 'text'
  // The length of the text as it was read decides. Another editor would lose the cursor position.
  const [isLong] = useState(text.length > textAreaCharacters)
  const [isChanged, setChanged] = useState(false)
  const { close, confirmation } = useDiscardConfirmation(isChanged, onClose)
  const fault = isChanged ? faultOf(column, text) : undefined
  const change = (next: string) => {
    setText(next)
    setChanged(true)
  }
  return (
    <Dialog
      title={`${column.name}: ${column.type}`}
      isOpen
      size="wide"
      onClose={close}
      footer={
        isReadOnly ? (
          <Button onClick={onClose}>Close</Button>
        ) : (
          <>
            {column.nullable && <Button onClick={() => onCommit(null)}>Set to NULL</Button>}
            <Button onClick={onClose}>Cancel</Button>
            <Button
              variant="primary"
              disabled={fault !== undefined}
              onClick={() => (isChanged ? onCommit(text) : onClose())}
            >
              Stage
            </Button>
          </>
        )
      }
    >
      {whole === null && !isChanged && <p>The value is NULL.</p>}
      {kind === 'bytes' ? (
        <Bytes text={text} isReadOnly={isReadOnly} onChange={change} />
      ) : isText && !isLong ? (
        <TextArea
          label="Value"
          rows={14}
          value={text}
          isCode
          readOnly={isReadOnly}
          error={fault}
          onChange={change}
        />
      ) : (
        <>
          {kind === 'geometry' && <MapView text={text} />}
          <CodeEditor
            label="Value"
            value={text}
            language={isText ? 'text' : 'json'}
            isReadOnly={isReadOnly}
            onChange={change}
          />
          {fault !== undefined && <p role="alert">{fault}</p>}
        </>
      )}
      {confirmation}
    </Dialog>
  )
}

function Bytes({
  text,
  isReadOnly,
  onChange,
}: {
  readonly text: string
  readonly isReadOnly: boolean
  readonly onChange: (text: string) => void
}) {
  return (
    <>
      <BytesPreview hex={text} />
      {!isReadOnly && (
        <Field label="Replace with a file">
          {(attributes) => (
            <input
              {...attributes}
              type="file"
              onChange={async (event) => {
                const file = event.target.files?.[0]
                if (file !== undefined) onChange(formatHex(new Uint8Array(await file.arrayBuffer())))
              }}
            />
          )}
        </Field>
      )}
    </>
  )
}

/** Indents JSON, unless that would lose digits of a number. */
function indented(text: string): string {
  if (text.length > 1_000_000 || /\d{16}/.test(text) || /\.\d*0\b/.test(text)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
