import { PostgreSQL, type SQLNamespace, sql } from '@codemirror/lang-sql'
import { ensureSyntaxTree } from '@codemirror/language'
import { Compartment, type EditorState, Prec, StateEffect, StateField } from '@codemirror/state'
import { Decoration, type DecorationSet, keymap } from '@codemirror/view'
import { EditorView } from 'codemirror'
import { type Ref, useEffect, useImperativeHandle, useRef } from 'react'
import { editorSetup } from '../../ui/editor-setup.ts'
import type { SchemaNames } from './api.ts'

/** Part of the text with its offset. */
export interface TextPart {
  readonly text: string
  readonly start: number
}

export interface EditorHandle {
  /** Returns the selection, or the statement at the cursor. */
  current(): TextPart
  /** Marks the position of an error and moves the cursor there. */
  mark(offset: number | undefined): void
  /** Replaces the selection and moves the focus to the editor. */
  insert(text: string): void
}

interface EditorProps {
  readonly handle: Ref<EditorHandle>
  readonly value: string
  readonly onChange: (value: string) => void
  readonly names: readonly SchemaNames[] | undefined
  readonly onRun: () => void
}

/** Renders the editor of the SQL screen. Statement ends follow the grammar, so that a cursor identifies one statement. */
export function SqlEditor({ handle, ...props }: EditorProps) {
  const parent = useRef<HTMLDivElement>(null)
  const editor = useRef<EditorView>(undefined)
  const language = useRef(new Compartment())
  // The callbacks of the editor change with every render.
  const latest = useRef(props)
  latest.current = props
  const { value, names } = props

  // biome-ignore lint/correctness/useExhaustiveDependencies: the effects below follow the value and the names.
  useEffect(() => {
    if (parent.current === null) return
    const run = () => {
      latest.current.onRun()
      return true
    }
    const view = new EditorView({
      parent: parent.current,
      doc: value,
      extensions: [
        // This binding comes before those of the setup, which insert a line.
        Prec.highest(keymap.of([{ key: 'Mod-Enter', run }])),
        editorSetup,
        EditorView.contentAttributes.of({ 'aria-label': 'SQL' }),
        marks,
        EditorView.updateListener.of((update) => {
          const text = update.docChanged ? update.state.doc.toString() : undefined
          if (text !== undefined && text !== latest.current.value) latest.current.onChange(text)
        }),
        language.current.of([]),
      ],
    })
    editor.current = view
    return () => view.destroy()
  }, [])

  useEffect(() => {
    const extension = sql({ dialect: PostgreSQL, schema: namespaceOf(names ?? []), defaultSchema: 'public' })
    editor.current?.dispatch({ effects: language.current.reconfigure(extension) })
  }, [names])

  useEffect(() => {
    const document = editor.current?.state.doc
    if (document === undefined || document.toString() === value) return
    editor.current?.dispatch({ changes: { from: 0, to: document.length, insert: value } })
  }, [value])

  useImperativeHandle(handle, () => ({
    current: () => (editor.current === undefined ? { text: '', start: 0 } : partOf(editor.current.state)),
    mark(offset) {
      const view = editor.current
      if (view === undefined) return
      const at = offset === undefined ? undefined : Math.min(offset, view.state.doc.length)
      view.dispatch({
        effects: setMark.of(at),
        ...(at === undefined ? {} : { selection: { anchor: at }, scrollIntoView: true }),
      })
    },
    insert(text) {
      editor.current?.dispatch(editor.current.state.replaceSelection(text))
      editor.current?.focus()
    },
  }))

  return <div ref={parent} className="code-editor" />
}

/** Builds the completion names: tables and functions by schema. Those in `public` are also found without it. */
function namespaceOf(schemas: readonly SchemaNames[]): SQLNamespace {
  return Object.fromEntries(
    schemas.map(({ schema, relations, functions }) => [
      schema,
      Object.fromEntries([
        ...functions.map((name) => [name, []]),
        ...relations.map(({ name, columns }) => [name, columns]),
      ]),
    ]),
  )
}

/** Maximum parse time of a text that was just pasted, in milliseconds. */
const parseMs = 500

function partOf(state: EditorState): TextPart {
  const { from, to, empty, head } = state.selection.main
  if (!empty) return { text: state.sliceDoc(from, to), start: from }
  const tree = ensureSyntaxTree(state, state.doc.length, parseMs)
  const statements = tree?.topNode.getChildren('Statement') ?? []
  // A cursor after the semicolon still belongs to the statement before it, on the same line.
  const found =
    statements.find((node) => node.from <= head && head <= node.to) ??
    statements.findLast((node) => node.to <= head) ??
    statements[0]
  if (found === undefined) return { text: state.doc.toString(), start: 0 }
  return { text: state.sliceDoc(found.from, found.to), start: found.from }
}

const setMark = StateEffect.define<number | undefined>()

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(decorations, transaction) {
    for (const effect of transaction.effects)
      if (effect.is(setMark)) return decorationAt(transaction.state, effect.value)
    // The text has changed since the failed run.
    return transaction.docChanged ? Decoration.none : decorations
  },
  provide: (field) => EditorView.decorations.from(field),
})

function decorationAt(state: EditorState, offset: number | undefined): DecorationSet {
  if (offset === undefined || state.doc.length === 0) return Decoration.none
  const word = state.wordAt(Math.min(offset, state.doc.length - 1))
  const from = word?.from ?? Math.max(0, Math.min(offset, state.doc.length - 1))
  const to = word?.to ?? from + 1
  return Decoration.set([
    Decoration.mark({ class: 'sql-error', attributes: { title: 'The error is here' } }).range(from, to),
  ])
}
