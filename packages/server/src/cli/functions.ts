import { resolve } from 'node:path'
import { Command } from 'commander'
import { Type } from '../lib/type.ts'
import {
  createSubcommand,
  loadServerConfig,
  print,
  printJson,
  type Terminal,
  withConfigFlags,
} from './context.ts'
import { packFunctions } from './functions/pack.ts'
import { deploySchema, functionsPath, sendDeploy } from './functions/send-deploy.ts'
import { connectToServer, expectShape, type ServerClient, withServerFlags } from './server-client.ts'
import { formatBytes, formatTable } from './table.ts'

interface Options {
  readonly url?: string
  readonly adminToken?: string
  readonly json?: boolean
  readonly project?: string
}

interface Result {
  readonly json: unknown
  readonly text: string
}

/** Creates `basalt functions`, which deploys the functions of a project, through the API of a server. */
export function functionsCommands(terminal: Terminal): Command {
  const subcommand = (name: string, description: string) =>
    createSubcommand(terminal, name).description(description)
  return new Command('functions')
    .description('deploy functions to a server, and choose the live version')
    .addCommand(
      printResult(
        terminal,
        subcommand('deploy', 'send the folder functions with its packages, and make it live').option(
          '--project <folder>',
          'folder with package.json and functions; the current one by default',
        ),
        deploy,
      ),
    )
    .addCommand(printResult(terminal, subcommand('list', 'list deploys, the latest first'), list))
    .addCommand(
      printResult(terminal, subcommand('rollback', 'make the previously live deploy live again'), rollBack),
    )
}

async function deploy(server: ServerClient, { project = '.' }: Options, terminal: Terminal): Promise<Result> {
  const files = await packFunctions(resolve(terminal.cwd(), project))
  const step = (text: string) => void terminal.stderr.write(`${text}\n`)
  const made = await sendDeploy(server, files, step)
  return { json: made, text: `${made.deploy.hash} is live\n` }
}

async function list(server: ServerClient): Promise<Result> {
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

async function rollBack(server: ServerClient): Promise<Result> {
  const live = expectShape(deploySchema, await server.send('POST', `${functionsPath}/deploys/rollback`))
  return { json: live, text: `${live.hash} is live\n` }
}

/** Makes a command send requests to a server, and print the result. */
function printResult(
  terminal: Terminal,
  command: Command,
  work: (server: ServerClient, options: Options, terminal: Terminal) => Promise<Result>,
): Command {
  command.option('--json', 'print JSON')
  return withConfigFlags(withServerFlags(command)).action(async () => {
    const options = command.opts<Options>()
    const server = await connectToServer(terminal, loadServerConfig(terminal, command), options)
    try {
      const { json, text } = await work(server, options, terminal)
      if (options.json === true) printJson(terminal, json)
      else print(terminal, text)
    } finally {
      await server.close()
    }
  })
}
