import { Command } from 'commander'
import { runWorker } from '../workers/worker.ts'
import { loadServerConfig, type Terminal, withConfigFlags } from './context.ts'

/** Creates the command by which the parent starts a worker. */
export function workerCommand(terminal: Terminal): Command {
  const command = new Command('worker').description('serve requests for `basalt start`')
  return withConfigFlags(command).action(() => runWorker(() => loadServerConfig(terminal, command).config))
}
