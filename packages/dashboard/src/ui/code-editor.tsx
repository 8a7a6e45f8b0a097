import { lazy, Suspense } from 'react'
import { loadPart } from '../api/load-part.ts'
import { Spinner } from './states.tsx'

export interface CodeEditorProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly language?: 'sql' | 'json' | 'text'
  readonly isReadOnly?: boolean
  /** Names to complete, for SQL: tables (with their schema) and their columns. */
  readonly schema?: Readonly<Record<string, readonly string[]>> | undefined
  /** Ctrl or ⌘ and Enter. @param selection the selected text; all of it when nothing is selected */
  readonly onRun?: ((selection: string) => void) | undefined
}

const Editor = lazy(async () => ({
  default: (await loadPart(() => import('./code-mirror.tsx'))).CodeMirror,
}))

/** Loaded when it is first shown. */
export function CodeEditor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<Spinner label="Loading the editor" />}>
      <Editor {...props} />
    </Suspense>
  )
}
