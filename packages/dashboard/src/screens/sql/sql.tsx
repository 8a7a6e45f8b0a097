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
import { Splitter } from '../../ui/splitter.tsx'
import { Failure, Loaded, Spinner } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { explainSql, listTabs, type RunBody, readNames } from './api.ts'
import { CodeOf } from './as-code.tsx'
import {
  changeDraft,
  changeTab,
  closeTab,
  draft,
  labelOf,
  loadTabs,
  mostTabs,
  openTab,
  tabOf,
} from './draft.ts'
import type { EditorHandle, TextPart } from './editor.tsx'
import { History } from './history.tsx'
import { Options } from './options.tsx'
import { Parameters, valueAt } from './parameters.tsx'
import { PlanView } from './plan-view.tsx'
import { Results } from './results.tsx'
import { SavedQueries } from './saved.tsx'
import { SchemaTree } from './schema-tree.tsx'
import { lastParameter } from './script.ts'
import styles from './sql.module.css'
import { useRun } from './use-run.ts'

const Editor = lazy(async () => ({ default: (await loadPart(() => import('./editor.tsx'))).SqlEditor }))
const moreRows = 10_000
const namesForMs = 60_000

/** Runs SQL of administrators: `/sql`, with `?text=` for the initial text and `?panel=` for the open panel. */
export function SqlScreen() {
  const settings = useStore(draft)
  const tab = tabOf(settings)
  const stored = useApi(['sql', 'tabs'], listTabs)
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
    if (stored.data === undefined) return
    loadTabs(stored.data.items)
    if (given === null) return
    openTab(given)
    setSearch((before) => withParameters(before, { text: undefined }), { replace: true })
  }, [given, setSearch, stored.data])

  const runPart = useCallback(
    async (part: TextPart, more: Partial<RunBody> = {}) => {
      if (part.text.trim() === '') return
      setShown('results')
      editor.current?.mark(undefined)
      const linesBefore = tabOf(draft.get()).text.slice(0, part.start).split('\n').length - 1
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
  const runAll = useCallback(() => void runPart({ text: tabOf(draft.get()).text, start: 0 }), [runPart])
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

  const hasResult =
    shown === 'plan'
      ? explain.isPending || explain.error !== null || explain.result !== undefined
      : run !== undefined
  const view = (
    <div className={styles.editor}>
      <Suspense fallback={<Spinner label="Loading the editor" />}>
        <Editor
          handle={editor}
          value={tab.text}
          onChange={(text) => changeTab({ text })}
          names={names.data}
          onRun={runCurrent}
        />
      </Suspense>
      <Parameters count={lastParameter(tab.text)} values={settings.parameters} />
      <div className={styles.runBar}>
        <Button
          variant="primary"
          onClick={runCurrent}
          disabled={isRunning}
          title="Runs the selection, or the statement at the cursor (Ctrl or ⌘ and Enter)"
        >
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
    </div>
  )
  return (
    <div className={styles.screen}>
      <PageHeader
        title={tab.opened === undefined ? 'SQL' : `SQL · ${tab.opened.name}`}
        actions={
          <>
            <Badge tone={settings.mode === 'write' ? 'warning' : 'ok'}>
              {settings.mode === 'write' ? 'Writes allowed' : 'Read-only'}
            </Badge>
            <Button onClick={() => openPanel('history')}>History</Button>
            <Button onClick={() => openPanel('saved')}>Saved</Button>
            <CodeOf body={bodyOf(tab.text)} />
          </>
        }
      />
      <div className={styles.columns}>
        <SchemaTree names={names} onInsert={(text) => editor.current?.insert(text)} />
        <Loaded query={stored}>
          {() => (
            <div className={styles.main}>
              <div
                className={styles.upper}
                style={hasResult ? { flexBasis: `${settings.split}%` } : { flexGrow: 1 }}
              >
                <Tabs
                  label="Queries"
                  value={settings.active}
                  onChange={(active) => changeDraft({ active })}
                  tabs={settings.tabs.map((each) => ({
                    value: each.id,
                    label: labelOf(each),
                    content: each.id === settings.active ? view : null,
                  }))}
                  actions={
                    <>
                      <Button
                        variant="plain"
                        onClick={() => openTab('')}
                        disabled={settings.tabs.length >= mostTabs}
                      >
                        New tab
                      </Button>
                      <Button variant="plain" onClick={() => closeTab(settings.active)}>
                        Close tab
                      </Button>
                    </>
                  }
                />
              </div>
              {hasResult && (
                <>
                  <Splitter
                    label="Height of the editor"
                    value={settings.split}
                    onChange={(split) => changeDraft({ split })}
                  />
                  <div className={styles.lower}>
                    {shown === 'results' && isRunning && <Spinner label="Running" />}
                    {shown === 'results' && run !== undefined && (
                      <Results
                        run={run}
                        onMore={() =>
                          void runPart({ text: run.body.query, start: run.start }, { maxRows: moreRows })
                        }
                      />
                    )}
                    {shown === 'plan' && explain.isPending && <Spinner label="Explaining" />}
                    {shown === 'plan' && explain.error !== null && <Failure error={explain.error} />}
                    {shown === 'plan' && explain.result !== undefined && (
                      <PlanView explained={explain.result} />
                    )}
                  </div>
                </>
              )}
            </div>
          )}
        </Loaded>
      </div>
      {panel === 'history' && <History onClose={closePanel} onTake={(text) => openTab(text)} />}
      {panel === 'saved' && (
        <SavedQueries
          key={tab.opened?.id}
          text={tab.text}
          opened={tab.opened}
          onOpen={(opened) => openTab(opened.query, opened)}
          onForget={({ id }) =>
            changeDraft({
              tabs: settings.tabs.map((each) =>
                each.opened?.id === id ? { ...each, opened: undefined } : each,
              ),
            })
          }
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
