import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../src/configuration.ts'
import { messageOf } from '../src/lib/errors.ts'
import { type Block, readBlocks } from './guide-blocks.ts'
import { compareJson, matchesText } from './guide-output.ts'
import { openShell, type Shell } from './guide-shell.ts'
import { totpCode } from './second-factors.ts'
import { readFirstSignIn } from './server-process.ts'
import { waitFor } from './wait-for.ts'

/**
 * Every fenced block of the README and the guides is run as a reader would run it: from top to bottom, on a fresh
 * server, in one shell per page. Its output must match the page, and the advisors find nothing in the database. A comment
 * above a block says if it cannot be run.
 */

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Pages that build upon each other, in reading order. Every other page is independent. */
const series = [
  [
    'README.md',
    'docs/guides/collections.md',
    'docs/guides/search.md',
    'docs/guides/import-export.md',
    'docs/guides/realtime.md',
    'docs/guides/webhooks.md',
    'docs/guides/jobs.md',
  ],
  ['docs/guides/accounts.md', 'docs/guides/mfa.md', 'docs/guides/passkeys.md', 'docs/guides/mail.md'],
]

const pages = ['README.md', ...readdirSync(join(root, 'docs/guides')).map((name) => `docs/guides/${name}`)]
const alone = pages.filter((page) => page.endsWith('.md') && !series.flat().includes(page))

/** Pages whose server loads packages of the repository. */
const loadingPackages: readonly string[] = ['docs/guides/shop.md']

/** Time limit of a series of some fifty commands, each a process that opens the database. */
const seriesTimeoutMs = 400_000

/** Commands that replace blocks of earlier pages. */
const beforehand: Readonly<Record<string, string>> = {
  'docs/guides/tutorial.md': 'npx basalt init',
}

/** Findings of the advisors that pages intend, by the first page of their series. */
const intended: Readonly<Record<string, readonly string[]>> = {
  // The tables of the music shop are open to every user, until a page closes them. Jobs run as administrators.
  'README.md': [
    ...['album', 'artist', 'genre', 'media_type', 'playlist', 'playlist_track', 'track'].map(
      (table) => `rls_disabled public.${table}`,
    ),
    ...['employee', 'reading', 'sale'].map((table) => `rls_without_policy public.${table}`),
    'extension_exposed public.pg_trgm',
  ],
  'docs/guides/procedures.md': ['function_of_public public.shows_with(integer)'],
  // Callers do not read these tables.
  'docs/guides/public-reads.md': ['rls_without_policy public.message', 'rls_without_policy public.supplier'],
}

/** Text that a reader puts in place of a word, given the output of the page so far. */
type Input = (shell: Shell, printed: string) => string | Promise<string>

const inputs: Readonly<Record<string, Readonly<Record<string, Input>>>> = {
  'README.md': {
    'THE-PRINTED-PASSWORD': ({ directory }) => readFirstSignIn(join(directory, '.basalt')).password,
  },
  'docs/guides/mfa.md': {
    // The longer name first. The app's previous code is still valid, so the current one remains unused.
    'NEXT-CODE-OF-THE-APP': (_, printed) => totpCode(find(printed, /"secret":"(\w+)"/)),
    'CODE-OF-THE-APP': async (_, printed) => {
      await waitFor('a half minute that does not end at once', () => Date.now() % 30_000 < 25_000)
      return totpCode(find(printed, /"secret":"(\w+)"/), -1)
    },
    'MAILED-CODE': (shell) => takeCode(shell, /^.*INFO: mail, not sent.*\n(?:.*\n)*?.*?\b(\d{6})\b/gm),
    'SMS-CODE': (shell) => takeCode(shell, /Your code is: (\d{6})/g),
    'BACKUP-CODE': (_, printed) => find(printed, /"(\w{5}-\w{5})"/),
  },
  'docs/guides/realtime.md': {
    'AN-ID-FROM-ABOVE': (shell) => find(shell.shownIn('stream'), /^id: (\S+)$/m),
    'AN-ID-OF-A-CONNECTION': (shell) => find(shell.shownIn('stream'), /"clientId":"([^"]+)"/),
  },
}

function find(text: string, pattern: RegExp): string {
  const found = pattern.exec(text)?.[1]
  if (found === undefined) throw new Error(`${pattern} is not in\n${text}`)
  return found
}

const taken = new WeakMap<Shell, Set<string>>()

/** Returns the last code that was sent, as the terminal of the server shows it; each code once. */
function takeCode(shell: Shell, pattern: RegExp): Promise<string> {
  const used = taken.get(shell) ?? new Set()
  taken.set(shell, used)
  return waitFor('a code', () => {
    const code = [...shell.shownIn('server').matchAll(pattern)].at(-1)?.[1]
    return code !== undefined && !used.has(code) && used.add(code) && code
  })
}

describe('guides', () => {
  // Each page has a server of its own, and its commands use one core at most.
  test.concurrent.each([...series, ...alone.map((page) => [page])])(
    '%s and the pages after it › every block runs and prints its output',
    async (...group) => {
      await using shell = await openShell({
        loadsPackages: group.some((page) => loadingPackages.includes(page)),
      })
      for (const page of group) await readAlong(shell, page)
      if (shell.isServing()) expect(await adviceOn(shell)).toEqual(intended[group[0] ?? ''] ?? [])
    },
    seriesTimeoutMs,
  )
})

/** Returns the findings of the advisors on the database of the pages, except those that depend on when statistics are collected. */
async function adviceOn(shell: Shell): Promise<string[]> {
  const { output } = await shell.run('npx basalt advisors --json')
  const found = JSON.parse(output) as readonly { readonly rule: string; readonly object: string }[]
  return found.filter(({ rule }) => rule !== 'never_analyzed').map(({ rule, object }) => `${rule} ${object}`)
}

/** Runs the blocks of a page and compares their output. @throws Error with every difference */
async function readAlong(shell: Shell, page: string): Promise<void> {
  const placeholders = Object.entries(inputs[page] ?? {})
  const unused = new Set(placeholders.map(([placeholder]) => placeholder))
  const blocks = readBlocks(readFileSync(join(root, page), 'utf8')).filter(
    ({ mark }) => mark?.kind !== 'not run',
  )
  const needsServer = blocks.some(({ language }) => language === 'sh' || language === 'sql')
  if (needsServer && !shell.isServing() && page !== 'README.md')
    await shell.keepRunning('server', 'npm start')
  const prepared = beforehand[page]
  if (prepared !== undefined) await runCommands(shell, prepared)
  const problems: string[] = []
  let history = ''
  let printed: string | undefined
  for (const block of blocks) {
    let text = block.text
      .replaceAll(/\b8090\b/g, String(shell.port))
      .replaceAll(/\b3000\b/g, String(shell.receiverPort))
    try {
      for (const [placeholder, put] of placeholders) {
        if (!text.includes(placeholder)) continue
        text = text.replaceAll(placeholder, await put(shell, history))
        unused.delete(placeholder)
      }
      printed = await runBlock(shell, { ...block, text }, printed)
      history += printed ?? ''
    } catch (error) {
      problems.push(`${page}:${block.line}: ${messageOf(error)}\n${text}`)
    }
  }
  expect(problems.join('\n\n')).toBe('')
  expect([...unused], `inputs that ${page} does not ask for`).toEqual([])
}

/** @returns the output, to be compared with the block that shows it */
async function runBlock(
  shell: Shell,
  block: Block,
  printed: string | undefined,
): Promise<string | undefined> {
  const { language, text, mark } = block
  if (mark?.kind === 'file') {
    const path = join(shell.directory, mark.value)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `${text}\n`)
    return undefined
  }
  if (language === 'text' || language === 'json') {
    await compareBlock(shell, block, printed)
    return undefined
  }
  if (language === 'sh' && mark?.kind === 'terminal') {
    await shell.keepRunning(mark.value, text)
    return undefined
  }
  if (language === 'sh') return await runCommands(shell, text)
  if (language === 'sql') {
    writeFileSync(join(shell.directory, 'block.sql'), text)
    return await runCommands(shell, 'npx basalt sql --file block.sql')
  }
  if (language === 'toml') {
    writeFileSync(join(shell.directory, 'block.toml'), text)
    // A secret that the page leaves to the environment.
    const env = { BASALT_EMAIL_SMTP_PASSWORD: 'secret' }
    loadConfig({ directory: shell.directory, env, flags: {}, file: 'block.toml' })
    return undefined
  }
  throw new Error(`a block of ${language || 'no language'} is neither run nor marked`)
}

async function runCommands(shell: Shell, commands: string): Promise<string> {
  const { output, failures } = await shell.run(commands)
  if (failures !== '') throw new Error(`failed: ${failures}${output}`)
  // curl exits with 0 whatever the response is, and no page shows an unrelated error.
  if (output.includes('"doc_url"')) throw new Error(`an answer is an error: ${output}`)
  return output
}

async function compareBlock(shell: Shell, { language, text, mark }: Block, printed: string | undefined) {
  if (mark?.kind === 'terminal') {
    const show = () => shell.shownIn(mark.value)
    const isShown = () => matchesText(text, show(), true)
    await waitFor('the output', isShown).catch(() => {
      throw new Error(`the terminal ${mark.value} shows\n${show()}\nshown is`)
    })
    return
  }
  if (printed === undefined) throw new Error('the block shows the output of no command')
  if (language === 'json') {
    const difference = compareJson(text, printed)
    if (difference !== undefined) throw new Error(`${difference}; printed:\n${printed}\nshown is`)
  } else if (!matchesText(text, printed, false)) {
    throw new Error(`printed:\n${printed}\nshown is`)
  }
}
