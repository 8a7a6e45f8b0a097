import { inSession } from '../../api/queries.ts'
import { createStore } from '../../api/store.ts'
import { showToast } from '../../ui/toasts.ts'
import { deleteTab, putTab, type SavedQuery, type StoredTab } from './api.ts'

/** Query in the editor. */
export interface Tab extends StoredTab {
  /** Saved query that the text comes from. */
  readonly opened?: SavedQuery | undefined
}

/** Tabs of the editor and the run options. They are kept while the page is open, on all screens. */
export interface Draft {
  readonly tabs: readonly Tab[]
  /** Id of the selected tab. */
  readonly active: string
  readonly mode: 'read' | 'write'
  readonly transaction: 'all' | 'each'
  readonly runAs: 'administrator' | 'user' | 'anonymous'
  readonly userId: string
  /** Parameter values, indexed from 0. Null is NULL. */
  readonly parameters: readonly (string | null)[]
  /** Height of the editor above a result, in percent. */
  readonly split: number
}

export const draft = createStore<Draft>({
  tabs: [],
  active: '',
  mode: 'read',
  transaction: 'all',
  runAs: 'administrator',
  userId: '',
  parameters: [],
  split: 45,
})

export const mostTabs = 20

export function changeDraft(changes: Partial<Draft>): void {
  draft.set({ ...draft.get(), ...changes })
}

const none: Tab = { id: '', text: '' }

/** Returns the selected tab. */
export function tabOf({ tabs, active }: Draft): Tab {
  return tabs.find(({ id }) => id === active) ?? none
}

/** Shows the stored tabs at the first visit of the screen. */
export function loadTabs(stored: readonly StoredTab[]): void {
  if (draft.get().tabs.length > 0) return
  if (stored.length === 0) openTab('select now();')
  else changeDraft({ tabs: stored, active: stored.at(-1)?.id ?? '' })
}

/** Opens a text in a tab: the one that has it already, else an empty one, else a new one. */
export function openTab(text: string, opened?: SavedQuery): void {
  const { tabs, active } = draft.get()
  const same = tabs.find((tab) => tab.text === text && (tab.id === active || tab.opened?.id === opened?.id))
  const found =
    same ?? tabs.find((tab) => tab.text.trim() === '') ?? (tabs.length < mostTabs ? undefined : tabs.at(-1))
  // Ids in the order of their creation, which is that of the tabs.
  const id = found?.id ?? Date.now().toString(36)
  changeDraft({ tabs: found === undefined ? [...tabs, { id, text: '' }] : tabs, active: id })
  changeTab({ text, opened })
}

export function closeTab(closed: string): void {
  const { tabs, active } = draft.get()
  const rest = tabs.filter(({ id }) => id !== closed)
  changeDraft({ tabs: rest, active: active === closed ? (rest.at(-1)?.id ?? '') : active })
  if (rest.length === 0) openTab('')
  store(closed)
}

/** Changes the selected tab, and stores its text once nothing was typed for a moment. */
export function changeTab(changes: Partial<Omit<Tab, 'id'>>): void {
  const { tabs, active } = draft.get()
  changeDraft({ tabs: tabs.map((tab) => (tab.id === active ? { ...tab, ...changes } : tab)) })
  clearTimeout(waiting.get(active))
  waiting.set(
    active,
    setTimeout(() => store(active), pauseMs),
  )
}

const pauseMs = 600
const waiting = new Map<string, ReturnType<typeof setTimeout>>()
/** Maximum length of a stored text. */
const longest = 100_000
/** Changes are sent one after the other, so that the last one wins. */
let sent: Promise<unknown> = Promise.resolve()

function store(id: string): void {
  clearTimeout(waiting.get(id))
  sent = sent
    .then(async () => {
      const tab = draft.get().tabs.find((each) => each.id === id)
      if (tab === undefined) await inSession(() => deleteTab(id))
      else if (tab.text.length <= longest) await inSession(() => putTab(id, tab.text))
    })
    .catch((error: unknown) => showToast(error instanceof Error ? error.message : String(error), 'failure'))
}

/** Returns the label of a tab: the name of its query, or the beginning of its text. */
export function labelOf({ text, opened }: Tab): string {
  const label = opened?.name.split('/').at(-1) ?? text.trim().split('\n')[0] ?? ''
  return label === '' ? 'Empty query' : label.length > 24 ? `${label.slice(0, 24)}…` : label
}
