import { useEffect, useState } from 'react'
import { inSession } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { CodeEditor } from '../../ui/code-editor.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { indentJson } from '../../ui/json.ts'
import { Failure, Spinner } from '../../ui/states.tsx'
import { useDiscardConfirmation } from '../../ui/use-discard-confirmation.tsx'
import { type ColumnInfo, readCell } from './api.ts'
import { faultOf, kindOf } from './kinds.ts'
import { LongEditor, ValueEditor } from './value-editor.tsx'

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
  const { editor: kind } = kindOf(column)
  const [text, setText] = useState(kind === 'document' ? indentJson(whole ?? '') : (whole ?? ''))
  const isText = kind === 'line' || kind === 'text' || kind === 'markdown'
  const Editor = kind === 'line' ? LongEditor : ValueEditor
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
      {isText && isLong ? (
        <CodeEditor label="Value" value={text} language="text" isReadOnly={isReadOnly} onChange={change} />
      ) : (
        <Editor label="Value" {...{ column, text, isReadOnly }} error={fault} onChange={change} />
      )}
      {confirmation}
    </Dialog>
  )
}
