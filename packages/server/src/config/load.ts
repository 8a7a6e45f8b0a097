import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parse as parseToml, TomlError } from 'smol-toml'
import { codeOf, messageOf, OperatorError } from '../lib/errors.ts'
import { isOf } from '../lib/is-of.ts'
import { isObject, parseJson } from '../lib/json.ts'
import { suggestion } from '../lib/suggestion.ts'
import type { ConfigRule } from './rule.ts'
import type { Setting } from './settings.ts'

/** Source of a value, for `basalt config` and fault messages: `default`, `file basalt.toml`, … */
export type Source = string

/** Configuration of a program: its keys, and its rules that span several of them. */
export interface ConfigDefinition<Config> {
  readonly settings: readonly Setting[]
  readonly rules: readonly ConfigRule<Config>[]
  /** Normalizes a valid configuration for the program. Relative paths start from the directory. */
  normalize(config: Config, directory: string): void
}

export interface Loaded<Config> {
  readonly config: Config
  readonly sources: ReadonlyMap<string, Source>
}

export interface ConfigInput {
  /** Directory that relative paths start from. */
  readonly directory: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Command line flags by key, `server.port` → `"9000"`. */
  readonly flags?: Readonly<Record<string, string>>
  /** Configuration file; by default `basalt.toml` in the directory, if there is one. */
  readonly file?: string
}

interface Candidate {
  readonly value: unknown
  readonly source: Source
}

/**
 * Pattern of environment variables that are not configuration keys. They are the file, those of commands that
 * connect to a server, and those of tests. Kubernetes sets others in every pod beside a service named `basalt`.
 */
const otherVariables =
  /^BASALT_(CONFIG$|URL$|ADMIN_TOKEN$|TEST_|SERVICE_(HOST|PORT)($|_)|PORT$|PORT_\d+_(TCP|UDP|SCTP)($|_(PROTO|PORT|ADDR)$))/

/**
 * Merges defaults, file, environment and flags, in rising precedence.
 *
 * @throws OperatorError that lists every fault as `key (source): problem`.
 */
export function loadConfig<Config extends object>(
  { settings, rules, normalize }: ConfigDefinition<Config>,
  input: ConfigInput,
): Loaded<Config> {
  const faults: string[] = []
  const candidates = new Map<string, Candidate>()
  const layers = [
    readFileLayer(input, settings, faults),
    readEnvironment(input, settings, faults),
    readFlags(input, settings),
  ]
  for (const layer of layers) for (const [key, candidate] of layer) candidates.set(key, candidate)

  const group: Group = {}
  const sources = new Map<string, Source>()
  const unusable = new Set<string>()
  for (const setting of settings) {
    const candidate = candidates.get(setting.key)
    let value = candidate === undefined ? setting.default : coerce(setting, candidate.value)
    if (candidate !== undefined && !isOf(setting.schema, value)) {
      const shown = setting.secret ? 'the value' : JSON.stringify(candidate.value)
      faults.push(`${setting.key} (${candidate.source}): ${shown} is not ${setting.expects}`)
      unusable.add(setting.key)
      value = setting.default
    }
    assign(group, setting.key.split('.'), value)
    sources.set(setting.key, candidate?.source ?? 'default')
  }
  // Every leaf was checked against its schema above, or is the default.
  const config = group as unknown as Config
  for (const { key, problem } of rules.flatMap((rule) => rule(config) ?? [])) {
    if (!unusable.has(key)) faults.push(`${key} (${sources.get(key)}): ${problem}`)
  }
  if (faults.length > 0) throw new OperatorError(describeFaults(faults), { exitCode: 2 })
  normalize(config, input.directory)
  return { config: deepFreeze(config), sources }
}

/** Formats one fault as a line, several as a list. */
function describeFaults(faults: readonly string[]): string {
  if (faults.length === 1) return `invalid configuration: ${faults[0]}`
  return `invalid configuration\n${faults.map((fault) => `  ${fault}`).join('\n')}`
}

function readFileLayer(
  input: ConfigInput,
  settings: readonly Setting[],
  faults: string[],
): Map<string, Candidate> {
  const layer = new Map<string, Candidate>()
  // An empty variable counts as unset, because compose files pass unset ones on.
  const given = input.file ?? (input.env.BASALT_CONFIG || undefined)
  const name = given ?? 'basalt.toml'
  let content: string
  try {
    content = readFileSync(resolve(input.directory, name), 'utf8')
  } catch (error) {
    if (given === undefined && codeOf(error) === 'ENOENT') return layer
    throw new OperatorError(`cannot read the configuration file ${name}: ${messageOf(error)}`, {
      exitCode: 2,
    })
  }
  let tables: Record<string, unknown>
  try {
    tables = parseToml(content)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason = 'not TOML'] = error.message.replace('Invalid TOML document: ', '').split('\n')
    throw new OperatorError(`${name}, line ${error.line}: ${reason}`, { exitCode: 2 })
  }
  const source = `file ${name}`
  const keys = settings.map((setting) => setting.key)
  for (const [key, value] of listEntries(tables, keys)) {
    if (keys.includes(key)) layer.set(key, { value, source })
    else faults.push(`${key} (${source}): unknown key${suggestion(key, keys)}`)
  }
  return layer
}

interface Group {
  [name: string]: unknown
}

/**
 * Lists the entries of the file by dotted key. Nested tables are flattened, and empty ones of ours are skipped.
 */
function listEntries(table: Group, keys: readonly string[], prefix = ''): (readonly [string, unknown])[] {
  return Object.entries(table).flatMap(([name, value]) => {
    const path = `${prefix}${name}`
    const isTable = isObject(value) && !(value instanceof Date)
    if (!isTable || keys.includes(path)) return [[path, value] as const]
    if (Object.keys(value).length > 0) return listEntries(value as Group, keys, `${path}.`)
    return keys.some((key) => key.startsWith(`${path}.`)) ? [] : [[path, value] as const]
  })
}

function assign(group: Group, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path
  if (rest.length === 0) {
    group[name] = value
    return
  }
  const inner = (group[name] ?? {}) as Group
  group[name] = inner
  assign(inner, rest, value)
}

function readEnvironment(
  input: ConfigInput,
  settings: readonly Setting[],
  faults: string[],
): Map<string, Candidate> {
  const layer = new Map<string, Candidate>()
  const byName = new Map(settings.map((setting) => [setting.env, setting]))
  for (const [name, value] of Object.entries(input.env)) {
    if (!name.startsWith('BASALT_') || otherVariables.test(name) || value === undefined) continue
    const source = `environment ${name}`
    const setting = byName.get(name)
    const fileOf = name.endsWith('_FILE') ? byName.get(name.slice(0, -'_FILE'.length)) : undefined
    if (setting !== undefined) {
      layer.set(setting.key, { value, source })
    } else if (fileOf?.secret === true && input.env[fileOf.env] !== undefined) {
      faults.push(`${fileOf.key} (${source}): ${fileOf.env} is set too; which one counts?`)
    } else if (fileOf?.secret === true) {
      try {
        layer.set(fileOf.key, { value: readFileSync(resolve(input.directory, value), 'utf8').trim(), source })
      } catch (error) {
        faults.push(`${fileOf.key} (${source}): cannot read the file: ${messageOf(error)}`)
      }
    } else {
      faults.push(`${name} (environment): unknown variable${suggestion(name, [...byName.keys()])}`)
    }
  }
  return layer
}

function readFlags(input: ConfigInput, settings: readonly Setting[]): Map<string, Candidate> {
  const layer = new Map<string, Candidate>()
  for (const setting of settings) {
    const value = input.flags?.[setting.key]
    if (value !== undefined) layer.set(setting.key, { value, source: `flag ${setting.flag}` })
  }
  return layer
}

/**
 * Converts a text of the environment or a flag to the key's type. A text that does not fit is left for
 * validation.
 */
function coerce(setting: Setting, value: unknown): unknown {
  // A TOML time looks like a table without members, and no key is one.
  if (value instanceof Date) return undefined
  if (typeof value !== 'string') return value
  switch (setting.type) {
    case 'integer':
      return /^[+-]?\d+$/.test(value.trim()) ? Number(value) : value
    case 'boolean':
      return { true: true, '1': true, false: false, '0': false }[value.trim().toLowerCase()] ?? value
    case 'list':
      return value.trim() === '' ? [] : value.split(',').map((item) => item.trim())
    case 'table':
      return parseJson(value) ?? value
    case 'string':
      return value
  }
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner)
  return Object.freeze(value)
}
