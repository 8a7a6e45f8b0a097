import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { closest, distance } from 'fastest-levenshtein'
import { parse as parseToml, TomlError } from 'smol-toml'
import { Check } from 'typebox/value'
import { codeOf, messageOf, OperatorError } from '../lib/errors.ts'
import { configRules } from './rules.ts'
import { type Config, listSettings, type Setting } from './schema.ts'

/** Where a value came from, for `basalt config` and fault messages: `default`, `file basalt.toml`, … */
export type Source = string

export interface LoadedConfig {
  readonly config: Config
  readonly sources: ReadonlyMap<string, Source>
}

export interface ConfigInput {
  /** Directory that relative paths start from. */
  readonly directory: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Flags of the command line by key, `server.port` → `"9000"`. */
  readonly flags?: Readonly<Record<string, string>>
  /** Configuration file; without it `basalt.toml` of the directory, if there is one. */
  readonly file?: string
}

interface Candidate {
  readonly value: unknown
  readonly source: Source
}

/** Environment variables of ours that are not configuration keys. */
const otherVariables = /^BASALT_(CONFIG$|TEST_)/

/**
 * Merges defaults, file, environment and flags, in rising precedence.
 *
 * @throws OperatorError that lists every fault as `key (source): problem`.
 */
export function loadConfig(input: ConfigInput): LoadedConfig {
  const settings = listSettings()
  const faults: string[] = []
  const candidates = new Map<string, Candidate>()
  const layers = [
    readFileLayer(input, settings, faults),
    readEnvironment(input, settings, faults),
    readFlags(input, settings),
  ]
  for (const layer of layers) for (const [key, candidate] of layer) candidates.set(key, candidate)

  const config: Group = {}
  const sources = new Map<string, Source>()
  for (const setting of settings) {
    const candidate = candidates.get(setting.key)
    const value = candidate === undefined ? setting.default : coerce(setting, candidate.value)
    if (candidate !== undefined && !Check(setting.schema, value)) {
      const shown = setting.secret ? 'the value' : JSON.stringify(candidate.value)
      faults.push(`${setting.key} (${candidate.source}): ${shown} is not ${setting.expects}`)
    }
    place(config, setting.key.split('.'), value)
    sources.set(setting.key, candidate?.source ?? 'default')
  }
  // Every leaf was checked against its schema above; with faults the value is never returned.
  const checked = config as unknown as Config
  if (faults.length === 0) {
    for (const { key, problem } of configRules(checked))
      faults.push(`${key} (${sources.get(key)}): ${problem}`)
  }
  if (faults.length > 0) {
    throw new OperatorError(`invalid configuration\n${faults.map((fault) => `  ${fault}`).join('\n')}`, {
      exitCode: 2,
    })
  }
  checked.server.data_dir = resolve(input.directory, checked.server.data_dir)
  checked.server.public_base_url = checked.server.public_base_url.replace(/\/$/, '')
  return { config: deepFreeze(checked), sources }
}

function readFileLayer(
  input: ConfigInput,
  settings: readonly Setting[],
  faults: string[],
): Map<string, Candidate> {
  const layer = new Map<string, Candidate>()
  const name = input.file ?? input.env.BASALT_CONFIG ?? 'basalt.toml'
  const isDefault = input.file === undefined && input.env.BASALT_CONFIG === undefined
  let content: string
  try {
    content = readFileSync(resolve(input.directory, name), 'utf8')
  } catch (error) {
    if (isDefault && codeOf(error) === 'ENOENT') return layer
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
  for (const [key, value] of listEntries(tables)) {
    if (keys.includes(key)) layer.set(key, { value, source })
    else faults.push(`${key} (${source}): unknown key${suggestion(key, keys)}`)
  }
  return layer
}

interface Group {
  [name: string]: unknown
}

/** What stands in the file by dotted key; tables within tables are taken apart. */
function listEntries(table: Group, prefix = ''): (readonly [string, unknown])[] {
  return Object.entries(table).flatMap(([name, value]) => {
    const isTable =
      typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
    return isTable ? listEntries(value as Group, `${prefix}${name}.`) : [[`${prefix}${name}`, value] as const]
  })
}

function place(group: Group, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path
  if (rest.length === 0) {
    group[name] = value
    return
  }
  const inner = (group[name] ?? {}) as Group
  group[name] = inner
  place(inner, rest, value)
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

/** Text of the environment or a flag, read as the key's type; what does not fit is left for the check to refuse. */
function coerce(setting: Setting, value: unknown): unknown {
  if (typeof value !== 'string') return value
  switch (setting.type) {
    case 'integer':
      return /^[+-]?\d+$/.test(value.trim()) ? Number(value) : value
    case 'boolean':
      return { true: true, '1': true, false: false, '0': false }[value.trim().toLowerCase()] ?? value
    case 'list':
      return value.trim() === '' ? [] : value.split(',').map((item) => item.trim())
    case 'string':
      return value
  }
}

/** Names the nearest known key, unless nothing is near. */
function suggestion(name: string, known: readonly string[]): string {
  const nearest = closest(name, known)
  return distance(name, nearest) <= Math.max(3, name.length / 2) ? `; did you mean ${nearest}?` : ''
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner)
  return Object.freeze(value)
}
