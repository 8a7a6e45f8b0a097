import { createDirectory, postmasterOf, startServer } from './server-process.ts'
import { startThrowAwayCluster } from './throw-away-cluster.ts'

/** Starts the resources of a test run, prints its processes and directories as JSON, and waits to be killed. */
const [, , template = ''] = process.argv
const cluster = await startThrowAwayCluster({}, template)
const directory = createDirectory()
const server = await startServer({ config: { 'server.data_dir': directory.path } })
const pids = [cluster.pid, server.pid, postmasterOf(directory.path)]
const directories = [cluster.directory, directory.path]
process.stdout.write(`${JSON.stringify({ pids, directories })}\n`)
setInterval(() => undefined, 1000)
