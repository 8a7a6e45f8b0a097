import { resolve } from 'node:path'
import { Command } from 'commander'
import { OperatorError } from '../lib/errors.ts'
import { isObject, type JsonObject, parseJson } from '../lib/json.ts'
import { readTextFile } from '../lib/text-file.ts'
import { Type } from '../lib/type.ts'
import {
  createSubcommand,
  type JsonOption,
  loadServerConfig,
  print,
  printJson,
  type Terminal,
  withConfigFlags,
} from './context.ts'
import { connectToServer, expectShape, withServerFlags } from './server-client.ts'

interface Options extends JsonOption {
  readonly url?: string
  readonly adminToken?: string
}

const resultSchema = Type.Object({ added: Type.Integer(), total: Type.Integer() })

/** Creates `basalt graphql`, which manages persisted documents, through the API of a server. */
export function graphqlCommands(terminal: Terminal): Command {
  return new Command('graphql')
    .description('manage the persisted GraphQL documents of a server')
    .addCommand(persistCommand(terminal))
}

function persistCommand(terminal: Terminal): Command {
  const command = createSubcommand(terminal, 'persist')
    .description('list the documents of a manifest, so that clients can name them by their hash')
    .argument('<file>', 'manifest of graphql-codegen, Apollo or Relay, with SHA-256 hashes')
    .option('--json', 'print JSON')
  return withConfigFlags(withServerFlags(command)).action(async (file: string) => {
    const options = command.opts<Options>()
    const loaded = loadServerConfig(terminal, command)
    const manifest = readManifest(terminal, file)
    const server = await connectToServer(terminal, loaded, options)
    try {
      const answer = await server.send('POST', '/api/admin/graphql/documents', {
        body: manifest,
        isRepeatable: true,
      })
      const { added, total } = expectShape(resultSchema, answer)
      const result = { added, unchanged: total - added }
      if (options.json === true) printJson(terminal, result)
      else print(terminal, `${result.added} added, ${result.unchanged} unchanged\n`)
    } finally {
      await server.close()
    }
  })
}

/** @throws OperatorError for a file that is missing or no JSON object */
function readManifest(terminal: Terminal, file: string): JsonObject {
  const manifest = parseJson(readTextFile(resolve(terminal.cwd(), file), file))
  if (isObject(manifest)) return manifest
  throw new OperatorError(`${file}: expected a JSON object, as graphql-codegen, Apollo and Relay write it`)
}
