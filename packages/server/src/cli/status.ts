import { Command } from 'commander'
import { type Static, Type } from 'typebox'
import { Check } from 'typebox/value'
import { httpOrigin } from '../lib/addresses.ts'
import { OperatorError } from '../lib/errors.ts'
import { loadCommandConfig, print, type Terminal, withConfigFlags } from './context.ts'

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
    if (options.json === true) print(terminal, `${JSON.stringify({ url, ...health }, undefined, 2)}\n`)
    else print(terminal, `${url}: ${health.status}, database ${health.database}\n`)
    if (health.status !== 'ok') terminal.exitCode = 1
  })
}

/** @throws OperatorError when no server answers, or another program does */
async function askHealth(url: string): Promise<Static<typeof healthSchema>> {
  let answer: unknown
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(timeoutMs) })
    answer = await response.json()
  } catch (cause) {
    throw new OperatorError(`no server answers at ${url}`, { cause })
  }
  if (!Check(healthSchema, answer)) throw new OperatorError(`another program answers at ${url}`)
  return answer
}

const healthSchema = Type.Object({ status: Type.String(), database: Type.String() })
