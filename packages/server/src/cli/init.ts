import { join, relative, resolve } from 'node:path'
import { Command } from 'commander'
import { systemClock } from '../lib/clock.ts'
import { readVersion } from '../package.ts'
import { createProject } from '../project/init/create-project.ts'
import { print, printJson, type Terminal } from './context.ts'

export function initCommand(terminal: Terminal): Command {
  return new Command('init')
    .description('create the files of a project, and leave existing ones unchanged')
    .argument('[directory]', 'where', '.')
    .option('--json', 'print {"directory", "created", "kept"}')
    .action((given: string, { json }: { json?: boolean }) => {
      const directory = resolve(terminal.cwd(), given)
      const project = createProject(directory, readVersion(), systemClock.now())
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
