import { resolve } from 'node:path'
import { Command } from 'commander'
import { OperatorError } from '../lib/errors.ts'
import { Type } from '../lib/type.ts'
import { createSubcommand, type Terminal } from './context.ts'
import { functionLogsCommand } from './functions/logs.ts'
import { packFunctions } from './functions/pack.ts'
import { deploySchema, findAdminFunctions, functionsPath, sendDeploy } from './functions/send-deploy.ts'
import { expectShape } from './server-client.ts'
import { type Result, type ServerOptions, type ServerWork, withServer } from './server-command.ts'
import { formatBytes, formatTable, showControls } from './table.ts'

interface Options extends ServerOptions {
  readonly project?: string
  readonly install?: boolean
  readonly input?: string
  readonly params?: string
  readonly as?: string
  readonly commit?: boolean
  readonly reason?: string
}

type Work = ServerWork<Options>

/** Creates `basalt functions`, which deploys the functions of a project, through the API of a server. */
export function functionsCommands(terminal: Terminal): Command {
  const subcommand = (name: string, description: string) =>
    createSubcommand(terminal, name).description(description)
  const answer = (command: Command, work: (parts: Work) => Promise<Result>) =>
    withServer(terminal, command, work)
  return new Command('functions')
    .description('deploy functions to a server, call them, and read their log')
    .addCommand(
      answer(
        subcommand('deploy', 'send the folder functions with its packages, and make it live')
          .option('--project <folder>', 'folder with package.json and functions; the current one by default')
          .option('--install', 'send the lockfile instead of packages, which each node then installs by npm'),
        (parts) => deploy(terminal, parts),
      ),
    )
    .addCommand(answer(subcommand('list', 'list deploys, the latest first'), list))
    .addCommand(
      answer(
        subcommand('invoke', 'call a route by its name; what it writes is undone')
          .argument('<name>', 'export of the route, or its file for a default export')
          .option('--input <json>', 'input of the function')
          .option('--params <json>', 'object with the parameters of the path')
          .option('--as <user>', 'id of the user who calls, or anonymous; by default the administrator')
          .option('--commit', 'keep what the function writes; requires --reason')
          .option('--reason <text>', 'reason, which the audit log records'),
        (parts) => invoke(terminal, parts),
      ),
    )
    .addCommand(functionLogsCommand(terminal))
    .addCommand(answer(subcommand('rollback', 'make the previously live deploy live again'), rollBack))
}

async function deploy(terminal: Terminal, { server, options }: Work): Promise<Result> {
  const { project = '.', install = false } = options
  const files = await packFunctions(resolve(terminal.cwd(), project), { install })
  const step = (text: string) => void terminal.stderr.write(`${text}\n`)
  const made = await sendDeploy(server, files, { install, step })
  const admin = await findAdminFunctions(server, made.deploy.hash)
  return { json: { ...made, admin }, text: `${made.deploy.hash} is live\n${describeAdmin(admin)}` }
}

/** Returns the line that names the functions with `admin: true`. */
function describeAdmin(names: readonly string[] | null): string {
  if (names === null)
    return 'functions with admin: true: unknown, because the server has not loaded the deploy\n'
  return names.length === 0 ? '' : `functions with admin: true: ${names.map(showControls).join(', ')}\n`
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
  const live = items.find(({ isLive }) => isLive)
  const admin = live === undefined ? [] : await findAdminFunctions(server, live.hash)
  const table = formatTable(['deploy', 'live', 'files', 'size', 'created'], rows)
  return { json: items, text: `${table}${describeAdmin(admin)}` }
}

async function rollBack({ server }: Work): Promise<Result> {
  const live = expectShape(deploySchema, await server.send('POST', `${functionsPath}/deploys/rollback`))
  return { json: live, text: `${live.hash} is live\n` }
}

const invocationSchema = Type.Object({
  status: Type.Integer(),
  result: Type.Optional(Type.Unknown()),
  error: Type.Union([
    Type.Null(),
    Type.Object({ error: Type.String(), message: Type.String(), stack: Type.Optional(Type.String()) }),
  ]),
  isCommitted: Type.Boolean(),
  requestId: Type.String(),
})

async function invoke(terminal: Terminal, { server, operands: [name = ''], options }: Work): Promise<Result> {
  const { input, params, as, commit, reason } = options
  const body = {
    name,
    ...(input === undefined ? {} : { input: readJson('--input', input) }),
    ...(params === undefined ? {} : { params: readJson('--params', params) }),
    ...(as === undefined ? {} : { as }),
    ...(commit === undefined ? {} : { commit }),
    ...(reason === undefined ? {} : { reason }),
  }
  const done = expectShape(invocationSchema, await server.send('POST', `${functionsPath}/invoke`, { body }))
  const { status, result, error, isCommitted } = done
  if (error !== null) {
    terminal.exitCode = 1
    const lines = [`${status} ${error.error}: ${error.message}`, ...(error.stack?.split('\n') ?? [])]
    return { json: done, text: `${lines.map(showControls).join('\n')}\n` }
  }
  if (!isCommitted) terminal.stderr.write('undone: --commit keeps what the function writes\n')
  return { json: done, text: result === undefined ? '' : `${JSON.stringify(result, undefined, 2)}\n` }
}

function readJson(flag: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new OperatorError(`${flag}: expected JSON`, { exitCode: 2 })
  }
}
