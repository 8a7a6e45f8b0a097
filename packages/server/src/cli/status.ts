import { Command } from 'commander'
import { httpOrigin } from '../lib/addresses.ts'
import { OperatorError } from '../lib/errors.ts'
import { loadCommandConfig, type Terminal, withConfigFlags } from './context.ts'

const timeoutMs = 5000

/** Asks the server this configuration describes how it is; exits 1 when it does not run or is not well. */
export function statusCommand(terminal: Terminal): Command {
  const command = new Command('status')
    .description('tell whether the server runs and its database is reachable')
    .option('--json', 'print the answer of GET /health with the URL')
  return withConfigFlags(command).action(async (options: { json?: boolean }) => {
    const { config } = loadCommandConfig(terminal, command)
    const { host, port } = config.server
    const url = httpOrigin(host, port)
    const health = await askHealth(url)
    if (options.json === true) terminal.stdout.write(`${JSON.stringify({ url, ...health }, undefined, 2)}\n`)
    else terminal.stdout.write(`${url}: ${health.status}, database ${health.database}\n`)
    if (health.status !== 'ok') terminal.exitCode = 1
  })
}

async function askHealth(url: string): Promise<{ status: string; database: string }> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(timeoutMs) })
    return (await response.json()) as { status: string; database: string }
  } catch (cause) {
    throw new OperatorError(`no server answers at ${url}`, { cause })
  }
}
