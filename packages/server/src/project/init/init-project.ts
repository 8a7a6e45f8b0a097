import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { type CreatedProject, createProject, suggestAppName } from './create-project.ts'

/** Part of a process that the command needs. */
export interface ProjectTerminal {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  cwd(): string
}

export interface InitOptions {
  readonly directory: string
  /** Name of the application. A terminal prompts for it by default. */
  readonly appName: string | undefined
  readonly isJson: boolean
  /** Version of Basalt on which the project depends. */
  readonly version: string
  readonly now: Date
}

/**
 * Creates a project, for `basalt init` and `npm create basaltdb`, and returns what they print.
 *
 * @throws OperatorError when the directory cannot be written
 */
export async function initProject(terminal: ProjectTerminal, options: InitOptions): Promise<string> {
  const { appName, isJson, version, now } = options
  const directory = resolve(terminal.cwd(), options.directory)
  const name = appName ?? (isJson ? undefined : await promptForName(terminal, directory))
  const project = createProject(directory, version, now, name)
  return isJson ? `${JSON.stringify(project, undefined, 2)}\n` : describeProject(project, terminal.cwd())
}

function describeProject({ directory, created, kept }: CreatedProject, cwd: string): string {
  const shown = (path: string) => relative(cwd, join(directory, path))
  const enter = relative(cwd, directory)
  return [
    ...created.map((path) => `created ${shown(path)}`),
    ...kept.map((path) => `kept ${shown(path)}`),
    '',
    `Next: ${enter === '' ? '' : `cd ${enter} && `}npm install && npx basalt dev`,
    '',
  ].join('\n')
}

/** Prompts for the name of the application. Returns undefined without a terminal, or if the file exists. */
async function promptForName(
  { stdin, stdout }: ProjectTerminal,
  directory: string,
): Promise<string | undefined> {
  if (stdin.isTTY !== true || stdout.isTTY !== true) return undefined
  if (existsSync(join(directory, 'basalt.toml'))) return undefined
  const suggested = suggestAppName(directory)
  const prompt = createInterface({ input: stdin, output: stdout })
  try {
    const answer = await prompt.question(`Name of the application, for its users [${suggested}]: `)
    return answer.trim() || suggested
  } finally {
    prompt.close()
  }
}
