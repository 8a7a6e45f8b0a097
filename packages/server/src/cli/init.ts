import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Command, InvalidArgumentError } from 'commander'
import { systemClock } from '../lib/clock.ts'
import { readVersion } from '../package.ts'
import { createProject, suggestAppName } from '../project/init/create-project.ts'
import { print, printJson, type Terminal } from './context.ts'

export function initCommand(terminal: Terminal): Command {
  return new Command('init')
    .description('create the files of a project, and leave existing ones unchanged')
    .argument('[directory]', 'where', '.')
    .option(
      '--app-name <name>',
      'name of the application for its users; a terminal prompts for it',
      parseName,
    )
    .option('--json', 'print {"directory", "created", "kept"}')
    .action(async (given: string, { json, appName }: { json?: boolean; appName?: string }) => {
      const directory = resolve(terminal.cwd(), given)
      const name = appName ?? (json === true ? undefined : await promptForName(terminal, directory))
      const project = createProject(directory, readVersion(), systemClock.now(), name)
      if (json === true) {
        printJson(terminal, project)
        return
      }
      const shown = (path: string) => relative(terminal.cwd(), join(directory, path))
      for (const path of project.created) print(terminal, `created ${shown(path)}\n`)
      for (const path of project.kept) print(terminal, `kept ${shown(path)}\n`)
      const enter = relative(terminal.cwd(), directory)
      print(terminal, `\nNext: ${enter === '' ? '' : `cd ${enter} && `}npm install && npx basalt dev\n`)
    })
}

function parseName(text: string): string {
  const name = text.trim()
  if (name === '') throw new InvalidArgumentError('It is empty.')
  return name
}

/** Prompts for the name of the application. Returns undefined without a terminal, or if the file exists. */
async function promptForName({ stdin, stdout }: Terminal, directory: string): Promise<string | undefined> {
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
