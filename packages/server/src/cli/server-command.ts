import type { Command } from 'commander'
import { loadServerConfig, print, printJson, type Terminal, withConfigFlags } from './context.ts'
import { connectToServer, type ServerClient, withServerFlags } from './server-client.ts'

/** Options of every command that sends requests to a server. */
export interface ServerOptions {
  readonly url?: string
  readonly adminToken?: string
  readonly json?: boolean
}

/** Result of a command: as JSON, and as text for people. */
export interface Result {
  readonly json: unknown
  readonly text: string
}

/** Client of the server, and the arguments of the command. */
export interface ServerWork<Options> {
  readonly server: ServerClient
  readonly operands: readonly string[]
  readonly options: Options
}

/** Makes a command send requests to a server, and print the result. */
export function withServer<Options extends ServerOptions>(
  terminal: Terminal,
  command: Command,
  work: (parts: ServerWork<Options>) => Promise<Result>,
): Command {
  command.option('--json', 'print JSON')
  return withConfigFlags(withServerFlags(command)).action(async () => {
    const loaded = loadServerConfig(terminal, command)
    const options = command.opts<Options>()
    const server = await connectToServer(terminal, loaded, options)
    try {
      const { json, text } = await work({ server, operands: command.args, options })
      if (options.json === true) printJson(terminal, json)
      else print(terminal, text)
    } finally {
      await server.close()
    }
  })
}
