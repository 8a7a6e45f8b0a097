import { lazy, Suspense } from 'react'
import { loadPart } from '../api/load-part.ts'
import { Spinner } from './states.tsx'

export interface CodeEditorProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly language?: 'sql' | 'json' | 'text'
  readonly isReadOnly?: boolean
  /** Names to complete in SQL: tables with their schema, and their columns. */
  readonly schema?: Readonly<Record<string, readonly string[]>> | undefined
  /** Called on Ctrl or ⌘ with Enter. @param selection selected text, or the whole text if nothing is selected */
  readonly onRun?: ((selection: string) => void) | undefined
}

const Editor = lazy(async () => ({
  default: (await loadPart(() => import('./code-mirror.tsx'))).CodeMirror,
}))

/** Loads the editor when it is first shown. */
export function CodeEditor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<Spinner label="Loading the editor" />}>
      <Editor {...props} />
    </Suspense>
  )
}
