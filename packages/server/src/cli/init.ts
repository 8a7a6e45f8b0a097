import { Command, InvalidArgumentError } from 'commander'
import { systemClock } from '../lib/clock.ts'
import { readVersion } from '../package.ts'
import { initProject } from '../project/init/init-project.ts'
import { print, type Terminal } from './context.ts'

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
    .action(async (directory: string, { json, appName }: { json?: boolean; appName?: string }) => {
      const options = { directory, appName, isJson: json === true }
      const now = systemClock.now()
      print(terminal, await initProject(terminal, { ...options, version: readVersion(), now }))
    })
}

function parseName(text: string): string {
  const name = text.trim()
  if (name === '') throw new InvalidArgumentError('It is empty.')
  return name
}
