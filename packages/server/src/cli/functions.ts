import { resolve } from 'node:path'
import { Command } from 'commander'
import { Type } from '../lib/type.ts'
import { createSubcommand, type Terminal } from './context.ts'
import { packFunctions } from './functions/pack.ts'
import { deploySchema, functionsPath, sendDeploy } from './functions/send-deploy.ts'
import { expectShape } from './server-client.ts'
import { type Result, type ServerOptions, type ServerWork, withServer } from './server-command.ts'
import { formatBytes, formatTable } from './table.ts'

interface Options extends ServerOptions {
  readonly project?: string
}

type Work = ServerWork<Options>

/** Creates `basalt functions`, which deploys the functions of a project, through the API of a server. */
export function functionsCommands(terminal: Terminal): Command {
  const subcommand = (name: string, description: string) =>
    createSubcommand(terminal, name).description(description)
  const answer = (command: Command, work: (parts: Work) => Promise<Result>) =>
    withServer(terminal, command, work)
  return new Command('functions')
    .description('deploy functions to a server, and choose the live version')
    .addCommand(
      answer(
        subcommand('deploy', 'send the folder functions with its packages, and make it live').option(
          '--project <folder>',
          'folder with package.json and functions; the current one by default',
        ),
        (parts) => deploy(terminal, parts),
      ),
    )
    .addCommand(answer(subcommand('list', 'list deploys, the latest first'), list))
    .addCommand(answer(subcommand('rollback', 'make the previously live deploy live again'), rollBack))
}

async function deploy(terminal: Terminal, { server, options: { project = '.' } }: Work): Promise<Result> {
  const files = await packFunctions(resolve(terminal.cwd(), project))
  const step = (text: string) => void terminal.stderr.write(`${text}\n`)
  const made = await sendDeploy(server, files, step)
  return { json: made, text: `${made.deploy.hash} is live\n` }
}

async function list({ server }: Work): Promise<Result> {
  const schema = Type.Object({ items: Type.Array(deploySchema) })
  const { items } = expectShape(schema, await server.send('GET', `${functionsPath}/deploys`))
  const rows = items.map(({ hash, isLive, fileCount, totalBytes, createdAt }) => [
    hash.slice(0, 12),
    isLive ? 'yes' : '',
    String(fileCount),
    formatBytes(totalBytes),
    createdAt,
  ])
  return { json: items, text: formatTable(['deploy', 'live', 'files', 'size', 'created'], rows) }
}

async function rollBack({ server }: Work): Promise<Result> {
  const live = expectShape(deploySchema, await server.send('POST', `${functionsPath}/deploys/rollback`))
  return { json: live, text: `${live.hash} is live\n` }
}
