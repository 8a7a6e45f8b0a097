import { syntaxHighlighting } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { classHighlighter } from '@lezer/highlight'
import { basicSetup, EditorView } from 'codemirror'
import './code-mirror.css'
import { nonce } from './nonce.ts'

/**
 * Types over a selection by a transaction. When a browser joins the lines of a selection itself, it writes style attributes, which
 * the Content Security Policy refuses.
 */
const typing = EditorView.domEventHandlers({
  beforeinput({ inputType, data }, view) {
    const { main } = view.state.selection
    if (inputType !== 'insertText' || data === null || view.composing || main.empty || view.state.readOnly)
      return false
    const insert = () => view.state.update(view.state.replaceSelection(data), { userEvent: 'input.type' })
    const handlers = view.state.facet(EditorView.inputHandler)
    if (!handlers.some((handle) => handle(view, main.from, main.to, data, insert))) view.dispatch(insert())
    return true
  },
})

/** Setup of every code editor. Bindings that replace those of the setup come before it. */
export const editorSetup: Extension = [
  EditorView.cspNonce.of(nonce),
  basicSetup,
  syntaxHighlighting(classHighlighter),
  EditorView.lineWrapping,
  typing,
]
