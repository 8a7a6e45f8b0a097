import { Command } from 'commander'
import { runWorker } from '../workers/worker.ts'

/** Creates the command by which the parent starts a worker. */
export function workerCommand(): Command {
  return new Command('worker').description('serve requests for `basalt start`').action(runWorker)
}
