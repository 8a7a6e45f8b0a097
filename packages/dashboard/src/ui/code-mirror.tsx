import { json } from '@codemirror/lang-json'
import { PostgreSQL, sql } from '@codemirror/lang-sql'
import { Compartment, EditorState, type Extension, Prec, Transaction } from '@codemirror/state'
import { keymap } from '@codemirror/view'
import { EditorView } from 'codemirror'
import { useEffect, useRef } from 'react'
import type { CodeEditorProps } from './code-editor.tsx'
import { editorSetup } from './editor-setup.ts'

export function CodeMirror(props: CodeEditorProps) {
  const { label, value, language = 'text', isReadOnly = false, schema } = props
  const parent = useRef<HTMLDivElement>(null)
  const editor = useRef<EditorView>(undefined)
  const settings = useRef(new Compartment())
  // The callbacks of the editor change with every render.
  const latest = useRef(props)
  latest.current = props

  // biome-ignore lint/correctness/useExhaustiveDependencies: the effects below follow the value and the settings.
  useEffect(() => {
    if (parent.current === null) return
    const view = new EditorView({
      parent: parent.current,
      extensions: [
        // This binding comes before those of the setup, which insert a line.
        Prec.highest(keymap.of([{ key: 'Mod-Enter', run: (of) => runSelection(of, latest.current.onRun) }])),
        editorSetup,
        EditorView.updateListener.of((update) => {
          const text = update.docChanged ? update.state.doc.toString() : undefined
          if (text !== undefined && text !== withLineFeeds(latest.current.value))
            latest.current.onChange(text)
        }),
        settings.current.of([]),
      ],
    })
    // The editor skips distant parts of a long line only after it has measured its text. Without measuring, 5 MB took seconds.
    view.coordsAtPos(0)
    view.dispatch({ changes: { from: 0, insert: value }, annotations: Transaction.addToHistory.of(false) })
    editor.current = view
    return () => view.destroy()
  }, [])

  useEffect(() => {
    const extensions: Extension = [
      languageOf(language, schema),
      EditorState.readOnly.of(isReadOnly),
      EditorView.contentAttributes.of({ 'aria-label': label }),
    ]
    editor.current?.dispatch({ effects: settings.current.reconfigure(extensions) })
  }, [language, schema, isReadOnly, label])

  useEffect(() => {
    const document = editor.current?.state.doc
    if (document === undefined || document.toString() === withLineFeeds(value)) return
    editor.current?.dispatch({ changes: { from: 0, to: document.length, insert: value } })
  }, [value])

  return <div ref={parent} className="code-editor" />
}

/** Converts line ends as the editor does: it makes one character of each. */
const withLineFeeds = (text: string) => text.replace(/\r\n?/g, '\n')

function runSelection(view: EditorView, onRun: CodeEditorProps['onRun']): boolean {
  if (onRun === undefined) return false
  const { from, to, empty } = view.state.selection.main
  onRun(empty ? view.state.doc.toString() : view.state.sliceDoc(from, to))
  return true
}

function languageOf(language: CodeEditorProps['language'], schema: CodeEditorProps['schema']): Extension {
  if (language === 'json') return json()
  if (language === 'sql') return sql({ dialect: PostgreSQL, ...(schema === undefined ? {} : { schema }) })
  return []
}
