import { pipeline } from 'node:stream/promises'
import { Command, Option } from 'commander'
import { type LoadedConfig, loadConfig, settings } from '../configuration.ts'
import { codeOf } from '../lib/errors.ts'
import { suggestion } from '../lib/suggestion.ts'
import { refuseOtherDatabase } from './server-note.ts'

/** Parts of a process that commands use. */
export interface Terminal {
  readonly argv: string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly pid: number
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  exitCode?: number | string | null | undefined
  cwd(): string
  on(event: string, listener: (...args: never[]) => void): unknown
  exit(code?: number): never
}

/** Prints as fast as the reader reads. @returns true if everything was written; a reader may stop reading */
export async function printAll({ stdout }: Terminal, texts: AsyncIterable<string>): Promise<boolean> {
  try {
    await pipeline(texts, stdout, { end: false })
    return true
  } catch (error) {
    if (codeOf(error) === 'EPIPE') return false
    throw error
  }
}

/** Writes to standard output. */
export function print({ stdout }: Terminal, text: string): void {
  stdout.write(text)
}

/** Writes a value to standard output, as every `--json` does. */
export function printJson(terminal: Terminal, value: unknown): void {
  print(terminal, `${JSON.stringify(value, undefined, 2)}\n`)
}

/** Writes a line to standard error. */
export function warn({ stderr }: Terminal, message: string): void {
  stderr.write(`warning: ${message}\n`)
}

/** Option of a command that can print JSON instead of text. */
export interface JsonOption {
  readonly json?: boolean
}

/**
 * Creates a subcommand. Commands of the first level inherit the output and the exit handling, which a
 * subcommand has to set.
 */
export function createSubcommand(terminal: Terminal, name: string): Command {
  return new Command(name).exitOverride().configureOutput(outputOf(terminal))
}

/** Returns the outputs of a command. A suggestion is a line of its own; an error is one line. */
export function outputOf({ stdout, stderr }: Terminal) {
  return {
    writeOut: (text: string) => stdout.write(text),
    writeErr: (text: string) =>
      stderr.write(
        hideValue(text)
          .replace(/^error: /, 'basalt: ')
          .replace(/\n(?=\()/, ' '),
      ),
  }
}

/** Hides the value of an unknown flag, which may be a secret: `--admin-tokn=basalt_…`, `-Psecret`. */
function hideValue(text: string): string {
  return text.replace(/(?<=^error: unknown option '(?:--[^=]*(?==)|-[^-])).*'/s, "'")
}

/** Short names of the most frequent flags. */
const aliases: Readonly<Record<string, string>> = {
  'server.port': '--port',
  'server.host': '--host',
  'server.data_dir': '--data-dir',
  'database.url': '--database-url',
}

/** Gives a command `--config` and a flag for every configuration key. */
export function withConfigFlags(command: Command): Command {
  command.option('--config <path>', 'configuration file (default: basalt.toml, if there is one)')
  for (const { key, flag, description } of settings) {
    const alias = aliases[key]
    if (alias !== undefined) command.option(`${alias} <value>`, description)
    // Visible flags are the few above; the configuration reference lists all others.
    if (alias !== flag) command.addOption(new Option(`${flag} <value>`, description).hideHelp())
  }
  const flags = settings.flatMap(({ key, flag }) => [flag, aliases[key] ?? []].flat())
  // Commander suggests only flags that the help lists.
  command.configureOutput({
    outputError: (text, write) =>
      write(
        text.replace(
          /(?<=unknown option ')(--[^'=]+)(=.*)?'(?=\n$)/s,
          (shown, flag) => `${shown}${suggestion(flag, flags)}`,
        ),
      ),
  })
  return command.addHelpText(
    'after',
    '\nEvery configuration key is also a flag, such as --server-body-limit; `basalt config` lists them.',
  )
}

/**
 * Loads the configuration of a command that works on the database.
 *
 * @throws OperatorError where the server of the data directory uses another database
 */
export function loadCommandConfig(terminal: Terminal, command: Command): LoadedConfig {
  const loaded = loadServerConfig(terminal, command)
  refuseOtherDatabase(loaded.config)
  return loaded
}

/** Loads the configuration from the flags of this command, the environment and the file. */
export function loadServerConfig(terminal: Terminal, command: Command): LoadedConfig {
  const given = command.opts<Record<string, string | undefined>>()
  const flags: Record<string, string> = {}
  for (const { key, flag } of settings) {
    const value = given[optionName(flag)] ?? given[optionName(aliases[key] ?? flag)]
    if (value !== undefined) flags[key] = value
  }
  const { config: file } = given
  return loadConfig({
    directory: terminal.cwd(),
    env: terminal.env,
    flags,
    ...(file === undefined ? {} : { file }),
  })
}

/** Returns Commander's name of an option: `--data-dir` → `dataDir`. */
function optionName(flag: string): string {
  return flag.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
