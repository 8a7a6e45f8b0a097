import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useSearchParams } from 'wouter'
import { loadPart } from '../../api/load-part.ts'
import { useAction, useApi } from '../../api/queries.ts'
import { useStore } from '../../api/store.ts'
import { useScreenActions } from '../../shell/actions.ts'
import { withParameters } from '../../shell/search-parameters.ts'
import { Button } from '../../ui/button.tsx'
import { Badge, PageHeader } from '../../ui/layout.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Failure, Spinner } from '../../ui/states.tsx'
import { explainSql, type RunBody, readNames } from './api.ts'
import { CodeOf } from './as-code.tsx'
import { changeDraft, draft } from './draft.ts'
import type { EditorHandle, TextPart } from './editor.tsx'
import { History } from './history.tsx'
import { Options } from './options.tsx'
import { Parameters, valueAt } from './parameters.tsx'
import { PlanView } from './plan-view.tsx'
import { Results } from './results.tsx'
import { SavedQueries } from './saved.tsx'
import { lastParameter } from './script.ts'
import styles from './sql.module.css'
import { useRun } from './use-run.ts'

const Editor = lazy(async () => ({ default: (await loadPart(() => import('./editor.tsx'))).SqlEditor }))
const moreRows = 10_000
const namesForMs = 60_000

/** Runs SQL of administrators: `/sql`, with `?text=` for the initial text and `?panel=` for the open panel. */
export function SqlScreen() {
  const settings = useStore(draft)
  const [search, setSearch] = useSearchParams()
  const editor = useRef<EditorHandle>(null)
  const names = useApi(['sql', 'names'], readNames, { refetchIntervalMs: namesForMs })
  const { run, start, cancel } = useRun()
  const explain = useAction(explainSql, { failure: 'view' })
  const [shown, setShown] = useState<'results' | 'plan'>('results')
  const panel = search.get('panel')
  const isRunning = run?.isRunning === true

  const given = search.get('text')
  useEffect(() => {
    if (given === null) return
    changeDraft({ text: given, opened: undefined })
    setSearch((before) => withParameters(before, { text: undefined }), { replace: true })
  }, [given, setSearch])

  const runPart = useCallback(
    async (part: TextPart, more: Partial<RunBody> = {}) => {
      if (part.text.trim() === '') return
      setShown('results')
      editor.current?.mark(undefined)
      const linesBefore = draft.get().text.slice(0, part.start).split('\n').length - 1
      const failure = await start({ ...bodyOf(part.text), ...more }, part.start, linesBefore)
      const offset = failure?.data?.offset
      if (offset !== undefined) editor.current?.mark(part.start + offset)
    },
    [start],
  )
  const runCurrent = useCallback(() => {
    const part = editor.current?.current()
    if (part !== undefined) void runPart(part)
  }, [runPart])
  const runAll = useCallback(() => void runPart({ text: draft.get().text, start: 0 }), [runPart])
  const explainCurrent = (analyze: boolean) => {
    const part = editor.current?.current()
    if (part === undefined) return
    const { transaction: _, ...body } = bodyOf(part.text.replace(/;\s*$/, ''))
    setShown('plan')
    explain.run({ ...body, analyze })
  }
  const openPanel = useCallback(
    (name: string) => setSearch((before) => withParameters(before, { panel: name })),
    [setSearch],
  )
  const closePanel = () => setSearch((before) => withParameters(before, { panel: undefined }))
  useScreenActions(
    useMemo(
      () => [
        { title: 'Run the statement at the cursor', run: runCurrent },
        { title: 'Run all statements', run: runAll },
        { title: 'Show the history of queries', run: () => openPanel('history') },
        { title: 'Show saved queries', run: () => openPanel('saved') },
      ],
      [runCurrent, runAll, openPanel],
    ),
  )

  return (
    <div className={styles.screen}>
      <div className={styles.main}>
        <PageHeader
          title={settings.opened === undefined ? 'SQL' : `SQL · ${settings.opened.name}`}
          actions={
            <>
              <Badge tone={settings.mode === 'write' ? 'warning' : 'ok'}>
                {settings.mode === 'write' ? 'Writes allowed' : 'Read-only'}
              </Badge>
              <Button onClick={() => openPanel('history')}>History</Button>
              <Button onClick={() => openPanel('saved')}>Saved</Button>
              <CodeOf body={bodyOf(settings.text)} />
            </>
          }
        />
        <Suspense fallback={<Spinner label="Loading the editor" />}>
          <Editor
            handle={editor}
            value={settings.text}
            onChange={(text) => changeDraft({ text })}
            names={names.data}
            onRun={runCurrent}
          />
        </Suspense>
        <Parameters count={lastParameter(settings.text)} values={settings.parameters} />
        <div className={styles.runBar}>
          <Button variant="primary" onClick={runCurrent} disabled={isRunning} title="Ctrl or ⌘ and Enter">
            Run
          </Button>
          <Button onClick={runAll} disabled={isRunning}>
            Run all
          </Button>
          {isRunning && <Button onClick={cancel}>Cancel</Button>}
          <Menu
            label="Explain"
            items={[
              { label: 'Plan', onSelect: () => explainCurrent(false) },
              { label: 'Plan with execution (rolled back)', onSelect: () => explainCurrent(true) },
            ]}
          />
          <Options settings={settings} />
        </div>
        <p className={styles.muted}>
          Run executes the selection, or the statement at the cursor (Ctrl or ⌘ and Enter).
        </p>
        {shown === 'results' && isRunning && <Spinner label="Running" />}
        {shown === 'results' && run !== undefined && (
          <Results
            run={run}
            onMore={() => void runPart({ text: run.body.query, start: run.start }, { maxRows: moreRows })}
          />
        )}
        {shown === 'plan' && explain.isPending && <Spinner label="Explaining" />}
        {shown === 'plan' && explain.error !== null && <Failure error={explain.error} />}
        {shown === 'plan' && explain.result !== undefined && <PlanView explained={explain.result} />}
      </div>
      {panel === 'history' && (
        <History onClose={closePanel} onTake={(text) => changeDraft({ text, opened: undefined })} />
      )}
      {panel === 'saved' && (
        <SavedQueries
          key={settings.opened?.id}
          text={settings.text}
          opened={settings.opened}
          onOpen={(opened) => changeDraft({ text: opened.query, opened })}
          onForget={({ id }) => {
            if (draft.get().opened?.id === id) changeDraft({ opened: undefined })
          }}
          onClose={closePanel}
        />
      )}
    </div>
  )
}

/** Returns the request that runs a text with the current options. */
function bodyOf(query: string): RunBody {
  const { mode, transaction, runAs, userId, parameters } = draft.get()
  const count = lastParameter(query)
  return {
    query,
    mode,
    ...(transaction === 'each' ? { transaction } : {}),
    ...(runAs === 'administrator'
      ? {}
      : { runAs: runAs === 'user' ? { kind: runAs, userId } : { kind: runAs } }),
    ...(count === 0
      ? {}
      : { parameters: Array.from({ length: count }, (_, index) => valueAt(parameters, index)) }),
  }
}
